import pytest

from winnow_research.decode.bench import TimedDecoding, figures


def timed(draft: str, tokens: int, seconds: float, rounds: int, gap: float | None = None) -> TimedDecoding:
    return TimedDecoding(
        "quotes",
        draft,
        tokens,
        seconds,
        seconds / 2,
        rounds,
        2 * rounds if draft != "off" else 0,
        tokens - 1 - rounds,
        gap,
    )


def test_ratios_are_of_each_answers_own_speed() -> None:
    answers = [
        timed("off", 11, 1.0, 10), timed("auto", 11, 0.5, 5),
        timed("off", 21, 2.0, 20), timed("auto", 11, 2.0, 8, gap=0.25),
        timed("off", 31, 3.0, 30), timed("auto", 31, 1.0, 10, gap=0.1),
    ]  # fmt: skip
    plain, auto = figures(answers)
    assert (plain.ratio, plain.tokens_per_s, plain.tokens_per_round) == (1, 10, 1)
    assert (auto.ratio, auto.lowest_ratio) == (2.0, 0.5)
    assert (plain.work_ratio, auto.work_ratio) == (1, 2.0)
    assert auto.tokens_per_round == pytest.approx(50 / 23)
    assert (auto.answers, auto.different, auto.widest_gap) == (3, 2, 0.25)


def test_answers_of_one_token_do_not_count() -> None:
    assert list(figures([timed("off", 1, 0.0, 0), timed("auto", 1, 0.0, 0)])) == []
