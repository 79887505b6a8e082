"""Shares, means and their intervals."""

import pytest

from winnow_research.evaluation.figures import BUDGETS, Outcome, as_json, auroc, bootstrap_mean, figures, wilson


def outcome(method: str, language: str, kept_from: int, rank: float | None = 1.0, top: float = 0.0) -> Outcome:
    """Kept from budget number `kept_from` on."""
    kept = tuple(number >= kept_from for number in range(len(BUDGETS)))
    everywhere = (True,) * len(BUDGETS)
    return Outcome(
        method, "describe", 32_000, "r", language, kept, tuple(map(float, kept)), kept, everywhere, rank, top
    )


@pytest.mark.parametrize(
    ("hits", "cases", "low", "high"), [(8, 10, 0.490, 0.943), (0, 10, 0.0, 0.278), (10, 10, 0.722, 1.0), (0, 0, 0, 1)]
)
def test_wilson_against_published_values(hits: int, cases: int, low: float, high: float) -> None:
    estimate = wilson(hits, cases)
    assert (estimate.low, estimate.high) == (pytest.approx(low, abs=5e-4), pytest.approx(high, abs=5e-4))


def test_the_bootstrap_interval_holds_the_mean_and_is_repeatable() -> None:
    values = [0.0, 1.0, 1.0, 0.5] * 25
    estimate = bootstrap_mean(values)
    assert estimate.value == pytest.approx(0.625)
    assert estimate.low < estimate.value < estimate.high
    assert estimate.high - estimate.low == pytest.approx(0.16, abs=0.03)
    assert bootstrap_mean(values) == estimate


def test_auroc_counts_ties_as_half() -> None:
    assert auroc([3, 2], [1, 0]) == 1.0
    assert auroc([1], [1]) == 0.5
    assert auroc([2, 0], [1]) == 0.5


def test_figures_are_over_all_cases_and_by_language_with_methods_in_their_order() -> None:
    cases = [("Winnow", "go", 0), ("BM25", "go", 3), ("Winnow", "c", 1), ("BM25", "c", 5)]
    found = figures([outcome(*case) for case in cases])
    order = [(group, method) for group in ("all", "c", "go") for method in ("Winnow", "BM25")]
    assert [(figure.group, figure.method) for figure in found] == order
    assert [figure.cases for figure in found] == [2, 2, 1, 1, 1, 1]
    assert [one.value for one in found[0].kept] == [0.5, 1, 1, 1, 1]
    assert [one.value for one in found[1].kept] == [0, 0, 0, 0.5, 0.5]
    assert as_json(found[0])["kept"]["500"] == [0.5, 0.0945, 0.9055]
