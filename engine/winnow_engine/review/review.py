"""A review: what the change does file by file, and what may be wrong with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from winnow_engine.changes.changed import Changes
from winnow_engine.changes.diff_text import TouchedFile
from winnow_engine.changes.question import touched_files
from winnow_engine.index.workspace import Workspace
from winnow_engine.review.findings import Finding, findings_of, summary_of
from winnow_engine.review.rules import rule_findings


@dataclass(frozen=True, slots=True)
class FileSummary:
    """A changed file: its numbers of new and removed lines, and the names of the units they are in."""

    path: str
    what: str
    added: int
    removed: int
    units: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Review:
    """A change's `title`, its files, a sentence on what it does, and findings, surest first.

    `unsupported` counts what a model listed without a line that exists; none of that is among the findings.
    """

    title: str
    files: tuple[FileSummary, ...]
    summary: str
    findings: tuple[Finding, ...]
    unsupported: int

    def as_json(self) -> dict[str, Any]:
        """The document that `winnow review --json` prints."""
        return asdict(self)


def unchanged(title: str) -> Review:
    """The review of two states that do not differ."""
    return Review(title, (), "Nothing changed.", (), 0)


def reviewed(answer: str, changes: Changes, workspace: Workspace) -> Review:
    """The review that a model's answer to `findings.QUESTION` makes, with what rules find."""
    touched = touched_files(changes, workspace)
    by_rule = list(rule_findings(touched, workspace))
    by_model, unsupported = findings_of(answer, touched, workspace)
    taken = {(one.path, one.start_line) for one in by_rule}
    found = [*by_rule, *(one for one in by_model if (one.path, one.start_line) not in taken)]
    order = ("high", "medium", "low")
    found.sort(key=lambda one: (order.index(one.confidence), one.path, one.start_line))
    return Review(
        changes.title, tuple(_files(changes, touched)), summary_of(answer, workspace), tuple(found), unsupported
    )


def _files(changes: Changes, touched: Sequence[TouchedFile]) -> Iterator[FileSummary]:
    units = {one.units.file.path: [unit.name for unit in one.units.units if unit.name] for one in touched}
    for file in changes.files:
        added, removed = sum(len(hunk.after) for hunk in file.hunks), sum(len(hunk.before) for hunk in file.hunks)
        what = f"{file.what}; {file.unread}" if file.unread else file.what
        yield FileSummary(file.path, what, added, removed, tuple(dict.fromkeys(units.get(file.path, []))))
