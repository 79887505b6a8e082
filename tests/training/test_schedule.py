"""The learning rate of a training: where it rises, and what makes it fall."""

import pytest

from winnow_research.training.schedule import cosine


def test_it_rises_to_the_peak_and_falls_to_a_fiftieth() -> None:
    shares = [cosine(step, 1000, 10) for step in range(1001)]
    assert shares[0] == pytest.approx(0.1)
    assert shares[:10] == sorted(shares[:10])
    assert shares[9:] == sorted(shares[9:], reverse=True)
    assert shares[9] == pytest.approx(1, abs=1e-3)
    assert shares[500] == pytest.approx((1 + 0.02) / 2)
    assert shares[1000] == pytest.approx(0.02)


def test_of_steps_and_time_the_one_that_is_further_on_decides() -> None:
    assert cosine(500, 1000, 10, 0.3) == cosine(500, 1000, 10)
    assert cosine(100, 1000, 10, 0.5) == cosine(500, 1000, 10)
    assert cosine(100, 1000, 10, 1.2) == cosine(1000, 1000, 10)
