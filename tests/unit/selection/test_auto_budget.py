import numpy as np
import pytest

from winnow_engine.selection.auto_budget import MOST_TOKENS, prefill_limit, tokens_needed

FLAT = np.zeros(1000, np.float32)
TOKENS = np.full(1000, 200, np.int32)


def standing_out(count: int, by: float) -> np.ndarray:
    scores = FLAT.copy()
    scores[:count] += by
    return scores


def test_one_unit_that_stands_out_needs_little() -> None:
    assert tokens_needed(standing_out(1, 12), TOKENS, subquestions=0) == 1500


def test_units_that_stand_out_together_are_all_wanted() -> None:
    assert tokens_needed(standing_out(15, 12), TOKENS, subquestions=0) == 15 * 200


def test_where_all_are_as_likely_the_limit_holds() -> None:
    assert tokens_needed(FLAT, TOKENS, subquestions=0) == MOST_TOKENS


def test_a_question_of_several_subquestions_needs_room_for_each() -> None:
    assert tokens_needed(standing_out(1, 12), TOKENS, subquestions=4) == 4000


@pytest.mark.parametrize("scores", [FLAT - 4, np.empty(0, np.float32)])
def test_nothing_is_kept_where_nothing_seems_to_answer(scores: np.ndarray) -> None:
    assert tokens_needed(scores, TOKENS[: len(scores)], subquestions=0) == 0


@pytest.mark.parametrize(
    ("tokens_per_s", "most"),
    [(None, 6000), (0.01, 2600), (33, 2600), (133, 2600), (134, 4000), (199, 4000), (200, 6000), (1e9, 6000)],
)
def test_a_slow_target_gets_what_it_reads_in_half_a_minute_or_the_least(tokens_per_s: float | None, most: int) -> None:
    assert prefill_limit(tokens_per_s) == most
    assert tokens_needed(FLAT, TOKENS, subquestions=0, most=prefill_limit(tokens_per_s)) == most


def test_what_is_needed_is_read_however_long_it_takes() -> None:
    assert tokens_needed(standing_out(1, 12), TOKENS, subquestions=4, most=2600) == 4000
    assert tokens_needed(standing_out(1, 12), TOKENS, subquestions=0, most=2600) == 1500
    assert tokens_needed(FLAT - 4, TOKENS, subquestions=4, most=2600) == 0
