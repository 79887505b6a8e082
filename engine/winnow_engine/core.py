"""The nouns every part of the engine shares, with their invariants.

Lines are 1-based and inclusive. A line ends with LF, CRLF or a lone CR, as in the Language Server Protocol.
Paths are relative to the workspace root, with forward slashes.
"""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from winnow_engine.errors import CancelledError


class UnitKind(StrEnum):
    """Kind of a unit; the queries in `index/languages` define them for each language."""

    FUNCTION = "function"
    METHOD = "method"
    CLASS_HEADER = "class_header"
    IMPORTS = "imports"
    TOP_LEVEL = "top_level"
    SECTION = "section"
    BLOCK = "block"


FUNCTIONS = (UnitKind.FUNCTION, UnitKind.METHOD)
DEFINITIONS = (*FUNCTIONS, UnitKind.CLASS_HEADER)


@dataclass(frozen=True, slots=True)
class Unit:
    """A run of whole lines of one file that is kept or dropped whole. A file's units tile it, in order.

    `parent` is the index, among the same file's units, of the header this unit stands under (a method's class
    header); it is smaller than the unit's own index. `name` is qualified by dots (`Context.invoke`) or empty.
    """

    kind: UnitKind
    name: str
    start_byte: int
    end_byte: int
    start_line: int
    end_line: int
    parent: int | None = None

    def __post_init__(self) -> None:
        assert self.start_byte < self.end_byte, self
        assert 1 <= self.start_line <= self.end_line, self


@dataclass(frozen=True, slots=True)
class Folder:
    """A root directory. Its files' workspace paths begin with `name/`; a workspace's only folder has no name."""

    root: Path
    name: str = ""

    def workspace_path(self, relative: str) -> str:
        """The workspace path of a file of this folder, given relative to its root."""
        return f"{self.name}/{relative}" if self.name else relative

    def relative(self, path: str) -> str | None:
        """The path within this folder's root of a workspace path; None if it is another folder's."""
        prefix = f"{self.name}/" if self.name else ""
        return path.removeprefix(prefix) if path.startswith(prefix) else None


@dataclass(frozen=True, slots=True)
class Budget:
    """The tokens of the workspace that the target may see: a number, a share, or as many as the answer needs.

    With neither `keep_tokens` nor `keep_ratio` the scores decide (`selection/auto_budget.py`); of both, `keep_ratio`
    wins. `most_tokens` bounds any budget and is for agents: where the scores decide, theirs ends at 99% of the chance.
    `patience_s` bounds the seconds that a target may then read. Where the index is far from complete, the best
    `first_look_tokens` or so, or a larger budget, are encoded (`selection/first_look.py`); 0 completes it first.
    """

    keep_tokens: int | None = None
    keep_ratio: float | None = None
    patience_s: float = 10.0
    first_look_tokens: int = 0
    most_tokens: int | None = None

    def __post_init__(self) -> None:
        if self.most_tokens is not None and self.most_tokens < 1:
            raise ValueError(f"most_tokens must be at least 1, not {self.most_tokens}")
        if self.keep_tokens is not None and self.keep_tokens < 1:
            raise ValueError(f"keep_tokens must be at least 1, not {self.keep_tokens}")
        if self.keep_ratio is not None and not 0 < self.keep_ratio <= 1:
            raise ValueError(f"keep_ratio must be in (0, 1], not {self.keep_ratio}")
        if not 0 < self.patience_s < math.inf:
            raise ValueError(f"patience_s must be a number above 0, not {self.patience_s}")
        if self.first_look_tokens < 0:
            raise ValueError(f"first_look_tokens must be at least 0, not {self.first_look_tokens}")

    def tokens(self, workspace_tokens: int) -> int | None:
        """The budget in tokens for a workspace of this size; None where the scores decide."""
        if self.keep_ratio is None:
            return self.keep_tokens
        return max(1, round(self.keep_ratio * workspace_tokens))


@dataclass(frozen=True, slots=True)
class Span:
    """Lines of one file that the target sees. `tokens` counts the drafter's tokens of exactly these lines.

    `score` is the log-odds that this unit answers the question. `features` has each feature's contribution to it; those
    below 0.05 are left out.
    """

    path: str
    start_line: int
    end_line: int
    tokens: int
    score: float
    kind: UnitKind
    name: str = ""
    features: Mapping[str, float] = field(default_factory=dict)


def ignore(_: object) -> None:
    """A sink that does nothing."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Code that an answer will rest on, at the cursor, then best first; seconds to the first token, None if unknown.

    It is `provisional` if the drafter has not scored it: the answer may rest on other code.
    """

    spans: tuple[Span, ...]
    seconds: float | None
    provisional: bool = False

    @classmethod
    def of(
        cls,
        spans: Iterable[Span],
        seconds: float | None,
        first: Callable[[Span], object] = ignore,
        *,
        provisional: bool = False,
    ) -> Kept:
        """The spans in order of their scores, but those that come `first` before all others."""
        return cls(tuple(sorted(spans, key=lambda span: (not first(span), -span.score))), seconds, provisional)


KeptSink = Callable[[Kept], None]


@dataclass(frozen=True, slots=True)
class Citation:
    """Lines the answer names or quotes; they exist in the workspace, or in a `commit` if there is one."""

    path: str
    start_line: int
    end_line: int
    commit: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence or list item of an answer, characters `start` to `end`, and up to three places that hold it.

    `support` is the probability that the best place holds it, None where nobody asks.
    `unknown` are the names in code form, as `start` and `end`, that nothing in workspace, question or change has.
    """

    start: int
    end: int
    places: tuple[Citation, ...] = ()
    support: float | None = None
    unknown: tuple[tuple[int, int], ...] = ()

    @property
    def found(self) -> bool:
        """False if it states something that the code shown does not hold."""
        return bool(self.places) or self.support is None


SentenceSink = Callable[[Sentence], None]


@dataclass(frozen=True, slots=True)
class Progress:
    """A report on long work: `done` of `total` (0 if unknown) in `stage`, or `tokens` of `total_tokens`.

    It took `elapsed_s` so far, and the rest is expected to take `left_s`, None if that is unknown.
    """

    stage: str
    done: int
    total: int
    tokens: int = 0
    total_tokens: int = 0
    elapsed_s: float = 0.0
    left_s: float | None = None


ProgressSink = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Cancellation:
    """A flag that one thread sets and every stage polls."""

    _event: threading.Event = field(default_factory=threading.Event)
    _of: Cancellation | None = None

    def part(self) -> Cancellation:
        """A flag for a part of the work: set with this one, or alone."""
        return Cancellation(_of=self)

    def cancel(self) -> None:
        """Ask all work that holds this flag to stop."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """True once `cancel` was called."""
        return self._event.is_set() or (self._of is not None and self._of.cancelled)

    def check(self) -> None:
        """Raise CancelledError if cancelled."""
        if self.cancelled:
            raise CancelledError("cancelled")


Scores = NDArray[np.float32]  # one number for each unit of a workspace, float32 [U]

Prompt = NDArray[np.int32]
"""A local target's prompt: token ids of its vocabulary, shape (tokens,), special tokens included."""

TextSink = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Thought:
    """A reasoning model's thought before its answer, with its seconds and tokens. No part of the answer."""

    text: str
    seconds: float
    tokens: int


Thinking = Literal["auto", "off", "on"]
Finish = Literal["eos", "stop", "length", "cancelled"]


@dataclass(frozen=True, slots=True)
class Sampling:
    """Choice of the next token, and end of the answer. Temperature 0 is greedy and ignores `top_p` and `seed`.

    The answer ends before the first of the `stop` strings; none of it is shown. `thinking` asks a reasoning model to
    think or not; `auto` is off where its chat template knows that, else as it does. A thought has `thinking_tokens` at
    most, which are not counted into `max_tokens`.
    """

    temperature: float = 0.0
    top_p: float = 0.95
    seed: int = 0
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    thinking: Thinking = "auto"
    thinking_tokens: int = 1024

    def __post_init__(self) -> None:
        if not 0 <= self.temperature <= sys.float_info.max:  # whole numbers can be larger
            raise ValueError(f"temperature must be at least 0 and finite, not {self.temperature}")
        if not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be in (0, 1], not {self.top_p}")
        # llama.cpp reads 2**32 - 1 as "take a random seed".
        if not 0 <= self.seed < 2**32 - 1:
            raise ValueError(f"seed must be in [0, 2**32 - 2], not {self.seed}")
        if self.max_tokens < 1:
            raise ValueError(f"max_tokens must be at least 1, not {self.max_tokens}")
        if self.thinking not in get_args(Thinking):
            raise ValueError(f"thinking must be one of {', '.join(get_args(Thinking))}, not {self.thinking!r}")
        if self.thinking_tokens < 1:
            raise ValueError(f"thinking_tokens must be at least 1, not {self.thinking_tokens}")
        if "" in self.stop:
            raise ValueError("a stop string must not be empty")


def counted(number: int, noun: str) -> str:
    """A number with its noun, such as `1 file` or `2,000 more files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def day(seconds: int) -> str:
    """The date, in UTC, of a time in seconds since the epoch, such as `2026-11-26`."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
