import numpy as np
import pytest

from winnow_engine.targets.drafts.control.round_cost import RoundCost


def cost_after(*rounds: tuple[int, float], times: int = 20) -> RoundCost:
    cost = RoundCost()
    for drafted, seen in rounds * times:
        cost.learn(drafted, seen)
    return cost


def test_before_any_round_each_token_costs_the_usual() -> None:
    assert RoundCost().curve == pytest.approx(1 + 0.5 * np.arange(17))


def test_sizes_seen_cost_what_was_seen_and_those_between_stand_between() -> None:
    curve = np.array(cost_after((3, 3.0), (7, 6.0), (15, 9.0)).curve)
    assert curve[[3, 7, 15]] == pytest.approx([3, 6, 9], rel=0.05)
    assert curve[[1, 5, 11]] == pytest.approx([1 + 2 / 3, 4.5, 7.5], rel=0.05)


def test_sizes_not_tried_follow_their_neighbours_and_larger_ones_are_hoped_for() -> None:
    cheap, dear = cost_after((4, 1.2)).curve, cost_after((4, 5.0)).curve
    assert cheap[2] == pytest.approx(1.1, rel=0.05)
    assert dear[2] == pytest.approx(3.0, rel=0.05)
    assert 1.2 < cheap[16] < 2
    assert 5 + 12 * 0.4 < dear[16] < 5 + 12 * 1.0


def test_a_step_is_found_by_trying_beyond_it_once() -> None:
    """A pass over sixteen tokens may cost hardly more than one over eight."""
    cost = cost_after((7, 8.0))
    assert cost.curve[15] < 1 + 15
    cost.learn(15, 9.2)
    assert cost.curve[15] < 12


@pytest.mark.parametrize("rounds", [[(2, 9.0), (8, 4.0)], [(1, 0.5)], [(16, 1.0), (3, 2.0), (5, 1.5)]])
def test_a_larger_round_never_costs_less(rounds: list[tuple[int, float]]) -> None:
    curve = cost_after(*rounds).curve
    assert curve[0] == 1
    assert (np.diff(curve) >= 0).all()


def test_a_small_round_that_was_disturbed_is_outvoted_by_a_larger_one() -> None:
    assert cost_after((2, 9.0), (8, 4.0)).curve[2] < 4.1


def test_plain_rounds_forget_what_is_above_the_usual_and_only_that() -> None:
    slow, quick = cost_after((4, 20.0)), cost_after((4, 1.5))
    before = slow.curve[4], quick.curve[4]
    for _ in range(600):
        slow.forget()
        quick.forget()
    assert slow.curve[4] < 4 < before[0]
    assert quick.curve[4] == before[1]


def test_the_least_a_token_costs_is_at_the_size_that_pays_most() -> None:
    assert cost_after((4, 3.0), (16, 5.0)).least_slope == pytest.approx(0.25, rel=0.05)
