"""The sources of training questions, a module each."""

from __future__ import annotations

from collections.abc import Callable

from winnow_research.training.examples import (
    comments,
    cursor,
    describe,
    documentation,
    messages,
    multi,
    names,
    needles,
    usage,
    written,
)
from winnow_research.training.examples.base import Example, ProjectTree

SOURCES: tuple[Callable[[ProjectTree], list[Example]], ...] = (
    describe.examples,
    comments.examples,
    names.examples,
    messages.examples,
    multi.examples,
    cursor.examples,
    usage.examples,
    documentation.examples,
    needles.examples,
    written.examples,
)


def examples(tree: ProjectTree) -> list[Example]:
    """Every source's examples of one project, source by source."""
    return [example for source in SOURCES for example in source(tree)]
