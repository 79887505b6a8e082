"""Needles hidden in long texts, and RULER's tasks: are the needles kept, and does the target find them?

`niah` and `ruler` make tests from `materials`; `run` asks Winnow.
docs/results/2026-11-22-needles.md explains what is measured.
"""

from __future__ import annotations

from winnow_research.evaluation.needles import niah, ruler
from winnow_research.evaluation.needles.base import Test


def all_tests() -> dict[str, Test]:
    """Every test by name: needles in a haystack, then RULER's tasks."""
    return {test.name: test for test in (*niah.tests(), *ruler.tests())}
