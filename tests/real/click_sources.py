"""The repository that many benchmarks are about: click's source distribution, pinned by hash."""

from __future__ import annotations

from pathlib import Path

from winnow_research.evaluation.archives import unpacked
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.tasks.real import WrittenQuestion, load

_CLICK = next(one for one in repositories(Split.TEST) if one.name == "click")


def fetch() -> Path:
    """The root of the source distribution, fetched on first use."""
    return unpacked(_CLICK.archive)


def questions() -> tuple[WrittenQuestion, ...]:
    """All that were written about click."""
    return load(_CLICK)
