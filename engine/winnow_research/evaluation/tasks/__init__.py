"""Kinds of questions with known answers, which the evaluation asks. Each task is a module.

To add one, add a module with a function `scenes(corpus, tokens)`, which makes workspaces with their questions (see
`base.Task`), and the line `TASK = Task("name", scenes)`. `usage.py` is a short example. The module is found by being
here, and `winnow bench relevance --task NAME` asks its questions. A row in the table of tasks in docs/relevance.md says
what is asked; a test compares the two. Calibration fits weights to every task but `multi`.
"""

from __future__ import annotations

from winnow_research.evaluation.discovery import modules_of
from winnow_research.evaluation.tasks.base import Task


def all_tasks() -> dict[str, Task]:
    """Every task by name, in the order of the module names."""
    found = (getattr(module, "TASK", None) for module in modules_of(__name__))
    return {task.name: task for task in found if task}
