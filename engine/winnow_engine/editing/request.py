"""Requests for a change, the tasks that they give a target, and the size that the target needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import prod

from winnow_engine.config import ModelConfig
from winnow_engine.editing.reply import Read
from winnow_engine.errors import ModelError, NotApplicableError
from winnow_engine.models.cache import locate
from winnow_engine.models.gguf_header import read_header
from winnow_engine.models.target_table import known_targets
from winnow_engine.question import Cursor, Question
from winnow_engine.targets.remote.address import is_url
from winnow_engine.targets.suggesting import resolved

LEAST_PARAMETERS = 3_000_000_000


def check_size(models: ModelConfig) -> None:
    """Raise NotApplicableError for a local target with few parameters. A file that cannot be read passes."""
    try:
        target = resolved(models).target
    except ModelError:
        return
    parameters = None if is_url(target) else _parameters(target)
    if parameters is not None and parameters < LEAST_PARAMETERS:
        raise NotApplicableError(
            f"{target} has {parameters / 1e9:.1f} billion parameters, and a target needs {LEAST_PARAMETERS / 1e9:.0f} "
            "billion to change code: set winnow.target to a larger model, or to the URL of a server"
        )


def _parameters(target: str) -> int | None:
    """The number of weights of a model; None if its file cannot be read, or is one of several."""
    registered = {target.name: target.parameters for target in known_targets()}
    if target in registered:
        return registered[target]
    try:
        header = read_header(locate(target))
    except ModelError:
        return None
    if header.values.get("split.count", 1) not in (0, 1):
        return None
    return sum(prod(tensor.shape) for tensor in header.tensors.values())


_LONGEST_PROBLEM = 1500  # characters; template errors of C++ run to pages


class EditKind(StrEnum):
    """The kind of change of the code at the cursor."""

    FIX = "fix"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class WantedEdit:
    """A change of the code at the cursor; `problems` are the messages of what is to be fixed.

    An `attempt` after the first draws another answer: the likeliest one would be the same again.
    """

    kind: EditKind
    cursor: Cursor
    problems: tuple[str, ...] = ()
    attempt: int = 0

    def __post_init__(self) -> None:
        if self.kind is EditKind.FIX and not any(problem.strip() for problem in self.problems):
            raise ValueError("a fix needs the problem to fix: send its message")

    @property
    def listed(self) -> str:
        """The problems, a line each, cut where they are very long."""
        return "\n".join(f"- {problem[:_LONGEST_PROBLEM]}" for problem in self.problems)


@dataclass(frozen=True, slots=True)
class EditTask:
    """The prompt for a change, and the reader of its answer, which has about the length and the fences of `expected`.

    `question` chooses the code around it, without lines in `shown`, which `prompt` has anyway.
    """

    title: str
    question: Question
    shown: Sequence[Cursor]
    prompt: str
    expected: str
    read: Read
