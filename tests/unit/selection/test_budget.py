import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow_engine.errors import BudgetError
from winnow_engine.selection.budget import Focus, KeptUnit, choose, density, worth


class Lines:
    """Units of one line a token; unit u covers lines 1..tokens[u] of its own and may be cut anywhere."""

    def __init__(self, tokens: list[int]) -> None:
        self.tokens = np.array(tokens, np.int32)

    def whole(self, unit: int) -> KeptUnit:
        return KeptUnit(unit, 1, int(self.tokens[unit]), int(self.tokens[unit]))

    def cut(self, unit: int, tokens: int, must: tuple[int, int] | None) -> KeptUnit | None:
        first, last = must or (1, 1)
        end = min(first + tokens - 1, int(self.tokens[unit]))
        return KeptUnit(unit, first, end, end - first + 1) if end >= last else None


def scores(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_everything_is_kept_when_everything_fits() -> None:
    kept = choose(Lines([10, 0, 20]), scores(0, 0, -5), 30)
    assert [piece.unit for piece in kept] == [0, 2]


def test_best_units_are_kept_whole_and_returned_in_order() -> None:
    kept = choose(Lines([30, 30, 30, 30]), scores(1, 4, 2, 3), 95)
    assert kept == [KeptUnit(1, 1, 30, 30), KeptUnit(2, 1, 30, 30), KeptUnit(3, 1, 30, 30)]


def test_unit_that_does_not_fit_is_passed_over_for_a_smaller_one() -> None:
    kept = choose(Lines([95, 95, 90, 50]), scores(4, 3, 2, 1), 250)
    assert [piece.unit for piece in kept] == [0, 1, 3]


def test_oversized_unit_is_cut_to_its_share() -> None:
    kept = choose(Lines([5000, 100, 100]), scores(9, 1, 2), 1000)
    assert kept[0] == KeptUnit(0, 1, 400, 400)
    assert {piece.unit for piece in kept} == {0, 1, 2}


def test_by_density_a_budget_holds_more_of_the_chance() -> None:
    source, chances = Lines([380, *[100] * 10]), scores(40, *[20] * 10)
    by_chance = choose(source, np.log(chances), 1000)
    by_density = choose(source, density(np.log(chances), source.tokens), 1000)
    assert [sum(chances[piece.unit] for piece in kept) for kept in (by_chance, by_density)] == [160, 200]


def test_tiny_units_are_no_cheaper_than_small_ones() -> None:
    assert density(scores(1, 1), np.array([2, 32], np.int32)).tolist() == pytest.approx([1 - np.log(32)] * 2)


def test_length_counts_less_where_one_thing_is_asked_for() -> None:
    tokens = np.array([40, 400], np.int32)
    long_one_better = scores(0, 2)
    assert worth(long_one_better, tokens, subquestions=0).argmax() == 1
    assert worth(long_one_better, tokens, subquestions=2).argmax() == 1
    assert worth(long_one_better, tokens, subquestions=3).argmax() == 0


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


def test_a_unit_that_fits_is_kept_whole_however_large() -> None:
    kept = choose(Lines([900, 90, 600]), scores(9, 1, 2), 1000)
    assert kept == [KeptUnit(0, 1, 900, 900), KeptUnit(1, 1, 90, 90)]


def test_an_oversized_unit_that_cannot_be_cut_is_passed_over() -> None:
    class Uncuttable(Lines):
        def cut(self, unit: int, tokens: int, must: tuple[int, int] | None) -> None:
            return None

    assert [piece.unit for piece in choose(Uncuttable([5000, 90]), scores(9, 1), 1000)] == [1]


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
