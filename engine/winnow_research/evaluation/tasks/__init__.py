"""Kinds of questions with known answers, which the evaluation asks. Each task is a module.

To add one, add a module with a function `scenes(corpus, tokens)` (see `base.EvaluationTask`) and the line
`TASK = EvaluationTask("name", scenes)`, like `usage.py`. It is found by being here. A row in the table of tasks in
docs/relevance.md says what is asked; a test compares the two. Calibration fits weights to every task but `multi`.
"""

from __future__ import annotations

from winnow_research.evaluation.discovery import modules_of
from winnow_research.evaluation.tasks.base import EvaluationTask


def all_tasks() -> dict[str, EvaluationTask]:
    """Every task by name, in the order of the module names."""
    found = (getattr(module, "TASK", None) for module in modules_of(__name__))
    return {task.name: task for task in found if task}
