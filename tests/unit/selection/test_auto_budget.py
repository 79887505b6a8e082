import numpy as np
import pytest

from winnow_engine.selection.auto_budget import prefill_limit, tokens_needed

FLAT = np.zeros(1000, np.float32)
TOKENS = np.full(1000, 200, np.int32)


def sure_of(share: float, log_odds: float) -> np.ndarray:
    """Scores of 1,000 units of which the first has a share of the chance, and the highest is `log_odds`."""
    rest = np.log((1 - share) / (len(FLAT) - 1)) - np.log(share)
    return np.asarray(log_odds + np.where(np.arange(len(FLAT)) == 0, 0, rest), np.float32)


@pytest.mark.parametrize(("share", "log_odds"), [(0.9, 4.5), (0.97, 4.0)])
def test_one_unit_that_is_likelier_than_others_but_not_sure_gets_company(share: float, log_odds: float) -> None:
    assert tokens_needed(sure_of(share, log_odds), TOKENS // 200, subquestions=0) == 1500


def test_a_question_at_the_cursor_or_with_subquestions_is_never_answered_by_one_place() -> None:
    assert tokens_needed(sure_of(0.97, 5), TOKENS, subquestions=0, at_cursor=True) == 1500
    assert tokens_needed(sure_of(0.97, 5), TOKENS, subquestions=2) == 2000


@pytest.mark.parametrize(
    ("scores", "absent", "tokens"),
    [
        (FLAT - 4, False, 400),
        (FLAT - 4, True, 0),
        (FLAT - 3.4, True, 400),  # 3.2%
        (np.empty(0, np.float32), False, 0),
    ],
)
def test_where_nothing_seems_to_answer_little_is_kept_and_nothing_of_what_is_not_there(
    scores: np.ndarray, absent: bool, tokens: int
) -> None:
    assert tokens_needed(scores, TOKENS[: len(scores)], subquestions=0, absent=lambda: absent) == tokens


@pytest.mark.parametrize(
    ("tokens_per_s", "patience_s", "most"),
    [
        (None, 10, 6000),
        (0.01, 10, 800),
        (119, 10, 800),
        (120, 10, 1200),
        (159, 10, 1200),
        (160, 10, 1600),
        (120, 30, 2600),
        (599, 10, 4000),
        (1e9, 0.1, 6000),
    ],
)
def test_a_slow_target_gets_what_it_reads_in_time_or_the_least(
    tokens_per_s: float | None, patience_s: float, most: int
) -> None:
    assert prefill_limit(tokens_per_s, patience_s) == most
    assert tokens_needed(FLAT, TOKENS, subquestions=0, most=most) == most


def test_a_place_that_surely_answers_is_kept_whole_however_long_it_takes() -> None:
    assert tokens_needed(sure_of(0.97, 4.5), TOKENS, subquestions=0, most=800) == 400
    assert tokens_needed(sure_of(0.97, 4.5), np.full(1000, 1300, np.int32), subquestions=0, most=800) == 1300
    assert tokens_needed(sure_of(0.97, 4.5), np.full(1000, 9000, np.int32), subquestions=0, most=800) == 6000
