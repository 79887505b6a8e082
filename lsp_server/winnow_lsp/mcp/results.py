"""Arguments and results of the tools, cut to a budget. The models' fields are the schemas that agents read."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from winnow_engine.errors import BudgetError

R = TypeVar("R", bound=BaseModel)
T = TypeVar("T")


def json_of(result: BaseModel) -> dict[str, Any]:
    """The result as JSON, without what is not set."""
    return result.model_dump(mode="json", exclude_none=True)


def text_of(result: BaseModel) -> str:
    """The result as an agent reads it: JSON without spaces between its parts."""
    return json.dumps(json_of(result), ensure_ascii=False, separators=(",", ":"))


def fitted(make: Callable[[Sequence[T]], R], items: Sequence[T], budget: int, count: Callable[[str], int]) -> R:
    """The result made of as many of the first items as fit a budget in tokens. BudgetError if it does not fit empty."""
    fits, too_many = -1, len(items) + 1
    middle = len(items)  # most often, all of them fit
    while too_many - fits > 1:
        if count(text_of(make(items[:middle]))) <= budget:
            fits = middle
        else:
            too_many = middle
        middle = (fits + too_many) // 2
    if fits < 0:
        raise BudgetError(f"nothing of this result fits {budget:,} tokens: raise the budget")
    return make(items[:fits])


MOST_TOKENS = 20_000
Budget = Annotated[
    int,
    Field(ge=100, le=MOST_TOKENS, description="Tokens that the result may have at most, counted by Qwen2.5's."),
]
Path = Annotated[str, Field(max_length=4096, description="A path as the results have it, relative to the workspace.")]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")


class FindCode(_Arguments):
    """Arguments of `find_code`."""

    question: str = Field(
        min_length=1,
        max_length=100_000,
        description="What you want to know, in a sentence: 'where is the request body limited?', not keywords.",
    )
    paths: list[Path] = Field(default=[], max_length=100, description="Look only in these files and folders.")
    budget: Budget = 2000


class ExplainPlace(_Arguments):
    """Arguments of `explain_place`."""

    path: Path
    start_line: int = Field(ge=1, description="First line, counted from 1.")
    end_line: int | None = Field(default=None, ge=1, description="Last line, included; the first if left out.")
    budget: Budget = 2000


class OutlinePath(_Arguments):
    """Arguments of `outline`."""

    path: Path = ""
    budget: Budget = 2000


class Ask(_Arguments):
    """Arguments of `ask`."""

    question: str = Field(min_length=1, max_length=100_000, description="The question, in a sentence.")
    paths: list[Path] = Field(default=[], max_length=100, description="Answer only from these files and folders.")


class CodePlace(BaseModel):
    """Lines of a file."""

    path: str
    start_line: int
    end_line: int


class CodeSpan(CodePlace):
    """Code that matters to a question. `score` is the log-odds that it answers it: above 0 it is likelier than not."""

    name: str
    kind: str
    score: float
    text: str


class FoundCode(BaseModel):
    """Code that matters to a question, best first."""

    spans: list[CodeSpan]
    index_complete: bool = Field(description="Whether all of the workspace was searched.")
    notices: list[str] = []


class Related(BaseModel):
    """A line that code is related to by a name, and what it lies in."""

    name: str
    path: str
    line: int
    inside: str
    text: str


class Explained(CodePlace):
    """What a place uses (the definitions), and who uses what it defines; the surest first."""

    inside: list[str] = Field(description="What the lines lie in.")
    uses: list[Related]
    used_by: list[Related]
    left_out: int = Field(description="How many more there are; a larger budget shows them.")


class OutlineEntry(BaseModel):
    """A folder (with `files` at any depth), a file (with `lines`, and the first names it defines), or a definition."""

    path: str
    kind: str
    files: int | None = None
    lines: int | None = None
    defines: list[str] | None = None
    name: str | None = None
    start_line: int | None = None
    end_line: int | None = None


class Outlined(BaseModel):
    """What is in a folder, or the definitions of a file."""

    entries: list[OutlineEntry]
    left_out: int = Field(description="How many more entries there are; a narrower path or a larger budget shows them.")


class ModelAnswer(BaseModel):
    """An answer of the user's own model, with the lines that it names or quotes; they exist."""

    answer: str
    complete: bool = Field(description="False if the answer was cut off at its longest.")
    citations: list[CodePlace]
    rests_on: list[CodePlace]
    notices: list[str] = []
