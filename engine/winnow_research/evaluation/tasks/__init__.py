"""Kinds of questions with known answers, which the evaluation asks. Each task is a module.

To add one, add a module with a function `scenes(corpus, tokens)`, which makes workspaces with their questions (see
`base.Task`), and the line `TASK = Task("name", scenes)`. `usage.py` is a short example. Nothing else has to know the
module: it is found by being here, and `winnow bench relevance --task NAME` asks its questions. Calibration fits weights
to every task but `multi`; a line in the table of docs/relevance.md says what is asked.
"""

from __future__ import annotations

from winnow_research.evaluation.discovery import modules_of
from winnow_research.evaluation.tasks.base import Task


def all_tasks() -> dict[str, Task]:
    """Every task by name, in the order of the module names."""
    found = (getattr(module, "TASK", None) for module in modules_of(__name__))
    return {task.name: task for task in found if task}
