"""From results to scores."""

import pytest

from winnow_research.evaluation.scores import Result, scores


def test_results_are_averaged_by_test_method_and_size_in_the_order_they_come_in() -> None:
    results = [Result("b", "kept", 8000, 1.0), Result("a", "kept", 8000, 0.5), Result("b", "kept", 8000, 0.0)]
    found = scores(results)
    assert [(one.test, one.cases, one.estimate.value) for one in found] == [("b", 2, 0.5), ("a", 1, 0.5)]


def test_a_score_as_json_has_its_interval() -> None:
    (found,) = scores([Result("a", "kept", 8000, 1.0)] * 10)
    assert found.as_json()["score"] == [1.0, pytest.approx(0.7225), 1.0]
