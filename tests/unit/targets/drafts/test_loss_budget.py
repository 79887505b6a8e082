import pytest

from winnow_engine.llama.tree import DraftTree, chain
from winnow_engine.targets.drafts.control.loss_budget import LossBudget


def budget_of(plain: float, slope: float) -> LossBudget:
    """A loss budget that has seen rounds of this cost, in which all drafts were right."""
    budget = LossBudget()
    for nodes in [0, 0, 0, *[4] * 40]:
        budget.learn(nodes, nodes + 1, plain * (1 + slope * nodes), tried=nodes > 0)
    return budget


def sure(worth: float, nodes: int = 8) -> DraftTree:
    return chain(range(nodes), [worth ** (n + 1) for n in range(nodes)])


def test_the_first_rounds_of_all_are_plain() -> None:
    budget = LossBudget()
    for _ in range(3):
        assert budget.rests
        budget.learn(0, 1, 0.1, tried=False)
    assert not budget.rests


def test_the_cheaper_a_drafted_token_the_longer_the_draft() -> None:
    sizes = [len(budget_of(0.05, slope).cut(sure(0.8))) for slope in (0.0, 0.1, 0.4, 0.9)]
    assert sizes[0] == 8
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 0


def test_only_as_much_of_a_tree_is_drafted_as_gives_most_tokens_a_second() -> None:
    tree = chain([1, 2, 3], [0.9, 0.8, 0.1])
    assert len(budget_of(0.1, 0.3).cut(tree)) == 2


LIKELY = sure(0.9)


def drafted_in(
    budget: LossBudget, rounds: int, right: int, slope: float, tree: DraftTree = LIKELY
) -> tuple[int, float]:
    """The nodes drafted and the plain rounds lost, over `rounds` rounds in which `right` tokens are right."""
    drafted, lost = 0, 0.0
    for _ in range(rounds):
        nodes = 0 if budget.rests else len(budget.cut(tree))
        seconds, tokens = 1 + slope * nodes, 1 + min(right, nodes)
        budget.learn(nodes, tokens, seconds, tried=nodes > 0)
        drafted, lost = drafted + nodes, lost + seconds - tokens
    return drafted, lost


@pytest.mark.parametrize("slope", [0.1, 0.3, 0.6, 0.9])
@pytest.mark.parametrize("rounds", [50, 200, 2000])
def test_a_draft_that_deceives_loses_a_bounded_time_and_is_tried_again(slope: float, rounds: int) -> None:
    drafted, lost = drafted_in(LossBudget(), rounds, right=0, slope=slope)
    assert 0 < lost <= 3 + 0.01 * rounds
    assert drafted > rounds / 200


def test_what_one_answer_gained_another_does_not_lose() -> None:
    budget = budget_of(1.0, 0.2)
    budget.begin(free=True)
    _, lost = drafted_in(budget, 100, right=0, slope=0.2)
    assert 0 < lost < 2 + 1


def test_a_large_draft_is_risked_only_of_what_drafts_gained_in_this_answer() -> None:
    dear = sure(0.999, 16)
    budget = LossBudget()
    drafted_in(budget, 4, right=0, slope=0.5, tree=chain([], []))
    assert len(budget.cut(dear)) <= 3
    drafted_in(budget, 20, right=16, slope=0.5, tree=dear)
    assert len(budget.cut(dear)) > 8
    budget.begin(free=True)
    assert len(budget.cut(dear)) <= 3


def test_a_step_in_the_cost_is_used() -> None:
    """A pass over four tokens that costs less than one over three, as llama.cpp's on AVX2."""
    budget = budget_of(1.0, 1.13 / 3)
    for nodes, cost in [(2, 2.6), (3, 2.1)] * 20:
        budget.learn(nodes, nodes + 1, cost, tried=True)
    assert len(budget.cut(sure(0.9, 3))) == 3


def test_slow_rounds_do_not_end_drafting_for_good() -> None:
    budget = budget_of(0.05, 0.2)
    for _ in range(6):
        budget.learn(4, 5, 1.0, tried=True)
    assert len(budget.cut(sure(0.8))) == 0
    for _ in range(600):
        budget.learn(0, 1, 0.05, tried=False)
    assert len(budget.cut(sure(0.8))) > 0


def test_a_single_slow_round_changes_little() -> None:
    budget = budget_of(0.05, 0.2)
    before = len(budget.cut(sure(0.9)))
    budget.learn(before, 1 + before, 5.0, tried=True)
    assert 0 < len(budget.cut(sure(0.9))) <= before


def test_a_first_round_that_was_slow_by_chance_is_found_out() -> None:
    """Drafts that are never right seem free if a plain round is thought to take ten times as long as it does."""
    budget, drafted = LossBudget(), 0
    budget.learn(0, 1, 1.0, tried=False)
    for _ in range(300):
        nodes = 0 if budget.rests else len(budget.cut(sure(0.9)))
        budget.learn(nodes, 1, 0.1 * (1 + 0.6 * nodes), tried=nodes > 0)
        drafted += nodes > 0
    assert drafted < 120


def test_a_plain_round_behind_a_draft_is_timed_once_more_where_the_change_costs_time() -> None:
    """As on a GPU, whose graphs are captured anew when a pass has another size than the one before."""
    alike, budget = LossBudget(), LossBudget()
    for one, change in ((alike, 0.0), (budget, 0.7)):
        before, drafted, lost = 0, 0, 0.0
        for _ in range(400):
            nodes = 0 if one.rests else len(one.cut(sure(0.9, 4)))
            changed = (nodes > 0) != (before > 0)
            seconds, before = 1 + 0.1 * nodes + change * changed, nodes
            one.learn(nodes, 1 + nodes, seconds, tried=nodes > 0)
            drafted, lost = drafted + nodes, lost + seconds - 1 - nodes
        assert drafted > 1300
        assert lost < -1200
        assert one._plain_s == pytest.approx(1)


def test_what_a_draft_makes_of_the_plain_round_behind_it_is_its_loss() -> None:
    drafted, lost = 0, 0.0
    budget, before = LossBudget(), 0
    for number in range(600):
        nodes = 0 if budget.rests else len(budget.cut(sure(0.9, 2 if number % 4 == 0 else 0)))
        seconds, before = 1 + 0.1 * nodes + 1.1 * ((nodes > 0) != (before > 0)), nodes
        right = nodes // 2  # two guesses, of which one is right: a loss by the changes alone
        budget.learn(nodes, 1 + right, seconds, tried=nodes > 0)
        drafted, lost = drafted + nodes, lost + seconds - 1 - right
    assert drafted
    assert lost < 3 + 0.01 * 600


def test_the_round_behind_a_prompt_may_take_longer() -> None:
    budget = budget_of(1.0, 0.2)
    for _ in range(20):
        budget.begin(free=True)
        budget.learn(0, 1, 1.7, tried=False)
        assert not budget.exhausted
        budget.learn(0, 1, 1.0, tried=False)
    assert budget._plain_s == pytest.approx(1)
