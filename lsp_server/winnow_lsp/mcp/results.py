"""Results of the tools: typed, and as the page that an agent's model reads, which is cut to a budget.

A page has code as it is, behind lines `PATH:LINES KIND NAME`. As JSON it takes a third more tokens, and small models
read the escapes badly.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from pydantic import BaseModel

from winnow_engine.core import Citation, Sentence, counted
from winnow_engine.errors import BudgetError
from winnow_lsp.host.footnotes import footnoted

R = TypeVar("R", bound="ToolResult")
T = TypeVar("T")


class ToolResult(BaseModel):
    """A result of a tool. `tools.json` describes the fields."""

    notices: list[str] = []

    def page(self) -> str:
        """The result as text."""
        return "\n".join([*(f"Note: {notice}" for notice in self.notices), *self.lines()])

    @abstractmethod
    def lines(self) -> Iterator[str]:
        """The text without the notices."""


def fitted(make: Callable[[Sequence[T]], R], items: Sequence[T], budget: int, count: Callable[[str], int]) -> R:
    """The result made of as many of the first items as fit a budget in tokens. BudgetError if it does not fit empty."""
    fits, too_many = -1, len(items) + 1
    middle = len(items)  # most often, all of them fit
    while too_many - fits > 1:
        if count(make(items[:middle]).page()) <= budget:
            fits = middle
        else:
            too_many = middle
        middle = (fits + too_many) // 2
    if fits < 0:
        raise BudgetError(f"nothing of this result fits {budget:,} tokens: raise the budget")
    return make(items[:fits])


class CodePlace(BaseModel):
    """Lines of a file."""

    path: str
    start_line: int
    end_line: int

    def __str__(self) -> str:
        return f"{self.path}:{_range(self.start_line, self.end_line)}"


class CodeSpan(CodePlace):
    """Code that matters, with the log-odds that it answers; or only its lines that match, numbered, without a score.

    Code that is cut is `part_of` the lines of its definition.
    """

    name: str
    kind: str
    score: float | None = None
    part_of: str | None = None
    text: str


class FoundCode(ToolResult):
    """Code that matters to a question, best first."""

    spans: list[CodeSpan]
    index_complete: bool

    def lines(self) -> Iterator[str]:
        """Each span: its place, then its code."""
        for number, span in enumerate(self.spans):
            if number or self.notices:
                yield ""
            yield f"{span} {span.kind} {span.name}".rstrip() + (f" (part of {span.part_of})" if span.part_of else "")
            yield span.text.rstrip()


class Related(BaseModel):
    """A line that code is related to by a name, and what it lies in."""

    name: str
    path: str
    line: int
    inside: str
    text: str

    def __str__(self) -> str:
        inside = f" (in {self.inside})" if self.inside not in ("", self.name) else ""
        return f"{self.path}:{self.line} {self.name}{inside}: {self.text}"


class Explained(ToolResult, CodePlace):
    """What a place uses (the definitions), and who uses what it defines; the surest first."""

    inside: list[str]
    uses: list[Related]
    used_by: list[Related]
    left_out: int

    def lines(self) -> Iterator[str]:
        """The place, then a line for each that it is related to."""
        yield f"{self} {', '.join(self.inside)}"
        for title, related in ("uses", self.uses), ("used by", self.used_by):
            if related:
                yield from ("", f"{title}:", *map(str, related))
        if not self.uses and not self.used_by:
            yield "nothing is related to it by name"
        yield from _left_out(self.left_out, "a larger budget")


class OutlineEntry(BaseModel):
    """A folder (with `files` at any depth), a file (with `lines`, and the first of its `names`), or a definition."""

    path: str
    kind: str
    files: int | None = None
    lines: int | None = None
    defines: list[str] | None = None
    names: int | None = None
    name: str | None = None
    start_line: int | None = None
    end_line: int | None = None

    def __str__(self) -> str:
        if self.start_line is not None and self.end_line is not None:
            return f"{_range(self.start_line, self.end_line)} {self.kind} {self.name}"
        if self.files is not None:
            return f"{self.path} {counted(self.files, 'file')}"
        names = f": {', '.join(_short(self.defines))}" if self.defines else ""
        more = (self.names or 0) - len(self.defines or ())
        return f"{self.path} {counted(self.lines or 0, 'line')}{names}" + (f" and {more:,} more" if more > 0 else "")


class Outlined(ToolResult):
    """What is in a folder, or the definitions of a file."""

    entries: list[OutlineEntry]
    left_out: int

    def lines(self) -> Iterator[str]:
        """A line for each entry; the path of definitions stands before them."""
        yield from {entry.path: None for entry in self.entries if entry.start_line is not None}
        yield from map(str, self.entries)
        yield from _left_out(self.left_out, "a narrower path or a larger budget")


class ModelAnswer(ToolResult):
    """An answer of the user's own model, with the code that holds each sentence; the lines exist."""

    answer: str
    complete: bool
    sentences: list[Sentence] = []
    citations: list[Citation]
    rests_on: list[CodePlace]

    def lines(self) -> Iterator[str]:
        """The answer, then its places."""
        text, cited, notes = footnoted(self.answer, self.sentences, self.citations)
        yield text
        if not self.complete:
            yield "(The answer was cut off at its longest.)"
        for title, listed in ("Cited", cited), ("Notes", notes):
            yield from (f"\n{title}:", *listed) if listed else ()
        if self.rests_on:
            yield f"\nRests on: {', '.join(map(str, self.rests_on))}"


def _short(names: Sequence[str]) -> Iterator[str]:
    """Names, without the owner of the one before: `Pool, .take, .put`."""
    owner = ""
    for name in names:
        before, _, last = name.rpartition(".")
        yield f".{last}" if before == owner and before.replace(".", "").isidentifier() else name
        owner = before or name


def _range(first: int, last: int) -> str:
    return f"{first}" if first == last else f"{first}-{last}"


def _left_out(number: int, remedy: str) -> Iterator[str]:
    if number:
        yield f"{number:,} more: {remedy} shows them"
