"""Needles hidden in long texts: are they kept, and does the target find them? And RULER's tasks.

`niah` and `ruler` make the tests out of `materials`; `run` asks Winnow.
docs/results/2026-11-22-needles.md explains the method.
"""

from __future__ import annotations

from winnow_research.evaluation.needles import niah, ruler
from winnow_research.evaluation.needles.base import Test


def all_tests() -> dict[str, Test]:
    """Every test by name: needles in a haystack, then RULER's tasks."""
    return {test.name: test for test in (*niah.tests(), *ruler.tests())}
