import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow_engine.errors import BudgetError
from winnow_engine.selection.budget import Focus, KeptUnit, choose, worth


class Lines:
    """Units of one line a token; unit u covers lines 1..tokens[u] of its own and may be cut anywhere."""

    def __init__(self, tokens: list[int]) -> None:
        self.tokens = np.array(tokens, np.int32)
        self.cuts = 0

    def whole(self, unit: int) -> KeptUnit:
        return KeptUnit(unit, 1, int(self.tokens[unit]), int(self.tokens[unit]))

    def cut(self, unit: int, tokens: int, must: tuple[int, int] | None) -> KeptUnit | None:
        self.cuts += 1
        first, last = must or (1, 1)
        end = min(first + tokens - 1, int(self.tokens[unit]))
        return KeptUnit(unit, first, end, end - first + 1) if end >= last else None


def scores(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_unit_that_does_not_fit_is_passed_over_for_a_smaller_one() -> None:
    kept = choose(Lines([95, 95, 90, 50]), scores(4, 3, 2, 1), 250)
    assert [piece.unit for piece in kept] == [0, 1, 3]


def test_oversized_unit_is_cut_to_its_share() -> None:
    kept = choose(Lines([5000, 100, 100]), scores(9, 1, 2), 1000)
    assert kept[0] == KeptUnit(0, 1, 400, 400)
    assert {piece.unit for piece in kept} == {0, 1, 2}


@pytest.mark.parametrize(
    ("tokens", "named", "wanted"),
    [
        ([5000, 100], {0: [4000]}, KeptUnit(0, 4000, 4399, 400)),
        ([5000, 100], {0: [4000, 3300, 10]}, KeptUnit(0, 3300, 4299, 1000)),
        ([5000, 100], {0: [10, 4000]}, KeptUnit(0, 10, 409, 400)),
        ([400, 700], {1: [650]}, KeptUnit(1, 650, 700, 51)),
    ],
)
def test_named_lines_stay_where_their_unit_is_cut(
    tokens: list[int], named: dict[int, list[int]], wanted: KeptUnit
) -> None:
    assert wanted in choose(Lines(tokens), scores(9, 1), 1000, named=named)


def test_nothing_is_cut_once_the_budget_is_full() -> None:
    source, named = Lines([940, *[100] * 60]), {unit: [1] for unit in range(61)}
    assert choose(source, scores(*range(61, 0, -1)), 1000, named=named) == [source.whole(0)]
    assert source.cuts == 0


def test_length_counts_less_where_one_thing_is_asked_for() -> None:
    tokens = np.array([40, 400], np.int32)
    long_one_better = scores(0, 2)
    assert worth(long_one_better, tokens, subquestions=0).argmax() == 1
    assert worth(long_one_better, tokens, subquestions=2).argmax() == 0


def test_focus_comes_first_with_its_companions() -> None:
    focus = Focus(units=(3,), lines=(2, 4), companions=(2,))
    kept = choose(Lines([90, 90, 20, 50, 90]), scores(9, 8, -9, -9, 7), 165, focus)
    assert [piece.unit for piece in kept] == [0, 2, 3]


def test_cursor_in_a_unit_over_the_budget_keeps_the_lines_asked_for() -> None:
    focus = Focus(units=(0,), lines=(400, 420), companions=())
    (piece,) = choose(Lines([5000, 500]), scores(0, 0), 100, focus)
    assert piece.start_line <= 400
    assert piece.end_line >= 420
    assert piece.tokens <= 100


def test_selection_over_the_budget_is_a_named_error() -> None:
    with pytest.raises(BudgetError, match="lines 1-300"):
        choose(Lines([5000, 500]), scores(0, 0), 100, Focus((0,), (1, 300), ()))


def test_selection_over_two_units_keeps_its_lines_when_the_units_do_not_fit() -> None:
    kept = choose(Lines([80, 90, 900]), scores(0, 0, 0), 100, Focus((0, 1), (70, 75), ()))
    assert [piece.unit for piece in kept][:2] == [0, 1]
    assert all(piece.start_line <= 70 and piece.end_line >= 75 for piece in kept[:2])


@given(st.lists(st.tuples(st.integers(0, 400), st.floats(-9, 9)), min_size=1, max_size=60), st.integers(1, 3000))
def test_budget_is_never_exceeded_and_no_unit_comes_twice(units: list[tuple[int, float]], budget: int) -> None:
    kept = choose(Lines([tokens for tokens, _ in units]), scores(*(score for _, score in units)), budget)
    assert sum(piece.tokens for piece in kept) <= budget
    numbers = [piece.unit for piece in kept]
    assert numbers == sorted(set(numbers))
