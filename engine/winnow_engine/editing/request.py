"""Requests for a change, and the tasks that they give a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from winnow_engine.editing.reply import Read
from winnow_engine.question import Cursor, Question

_LONGEST_PROBLEM = 1500  # characters; template errors of C++ run to pages


class EditKind(StrEnum):
    """The kind of change of the code at the cursor."""

    FIX = "fix"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class WantedEdit:
    """A change of the code at the cursor; `problems` are the messages of what is to be fixed."""

    kind: EditKind
    cursor: Cursor
    problems: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kind is EditKind.FIX and not any(problem.strip() for problem in self.problems):
            raise ValueError("a fix needs the problem to fix: send its message")

    @property
    def listed(self) -> str:
        """The problems, a line each, cut where they are very long."""
        return "\n".join(f"- {problem[:_LONGEST_PROBLEM]}" for problem in self.problems)


@dataclass(frozen=True, slots=True)
class EditTask:
    """The prompt for a change, and the reader of its answer.

    `question` chooses the code around it, without lines in `shown`, which `prompt` has anyway. `expected` is about as
    long as the answer. `read` makes an edit of a block of code.
    """

    title: str
    question: Question
    shown: Sequence[Cursor]
    prompt: str
    expected: str
    read: Read
