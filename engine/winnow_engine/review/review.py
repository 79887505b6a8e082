"""A review of a change, file by file, and the same as SARIF 2.1.0 (OASIS), which CI services show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from winnow_engine.changes.changed import Changes
from winnow_engine.changes.diff_text import TouchedFile
from winnow_engine.changes.question import touched_files
from winnow_engine.core import Folder
from winnow_engine.errors import GitError
from winnow_engine.git.repository import open_repository
from winnow_engine.index.workspace import Workspace
from winnow_engine.review.findings import RULES, Finding, findings_of, rule_findings, summary_of


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
    """A change's files, a sentence on it, and findings, surest first; `unsupported` counts those without a line."""

    title: str
    files: tuple[FileSummary, ...]
    summary: str
    findings: tuple[Finding, ...]
    unsupported: int


def unchanged(title: str) -> Review:
    """The review of two states that do not differ in any file that is read."""
    return Review(title, (), "Nothing changed that Winnow reads.", (), 0)


def reviewed(answer: str, changes: Changes, workspace: Workspace, corrected: Sequence[Finding] = ()) -> Review:
    """The review that a model's answer to `findings.QUESTION` makes, with what rules and corrections find."""
    touched = touched_files(changes, workspace)
    by_rule = list(rule_findings(touched, workspace))
    by_model, unsupported = findings_of(answer, touched, workspace)
    by_line = {(one.path, one.start_line): one for one in (*corrected, *by_model)}
    taken = {(one.path, one.start_line) for one in by_rule}
    found = [*by_rule, *(one for line, one in by_line.items() if line not in taken)]
    order = ("high", "medium", "low")
    found.sort(key=lambda one: (order.index(one.confidence), one.path, one.start_line))
    files = tuple(_files(changes, touched))
    return Review(changes.title, files, summary_of(answer, workspace), tuple(found), unsupported)


def _files(changes: Changes, touched: Sequence[TouchedFile]) -> Iterator[FileSummary]:
    units = {one.units.file.path: [unit.name for unit in one.units.units if unit.name] for one in touched}
    for file in changes.files:
        added, removed = sum(len(hunk.after) for hunk in file.hunks), sum(len(hunk.before) for hunk in file.hunks)
        what = f"{file.what}; {file.unread}" if file.unread else file.what
        yield FileSummary(file.path, what, added, removed, tuple(dict.fromkeys(units.get(file.path, []))))


_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"high": "warning", "medium": "warning", "low": "note"}
_RANKS = {"high": 90.0, "medium": 60.0, "low": 30.0}


def sarif(review: Review, version: str, folders: Sequence[Folder]) -> dict[str, Any]:
    """The document about folders of a workspace, with paths from the top of each one's repository, `%SRCROOT%`."""
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in RULES.items()]
    driver = {"name": "Winnow", "version": version, "rules": rules}
    tops = {folder: _top(folder) for folder in folders}
    bases = {top: f"%SRCROOT{number or ''}%" for number, top in enumerate(dict.fromkeys(tops.values()))}
    results = [_result(finding, _place(finding.path, tops, bases)) for finding in review.findings]
    uris = {name: {"uri": f"{top.as_uri().rstrip('/')}/"} for top, name in bases.items()}
    run = {"tool": {"driver": driver}, "originalUriBaseIds": uris, "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _top(folder: Folder) -> Path:
    try:
        return open_repository(folder.root).top
    except GitError:
        return folder.root.resolve()


def _place(path: str, tops: Mapping[Folder, Path], bases: Mapping[Path, str]) -> dict[str, str]:
    places = ((folder.root.resolve() / local, top) for folder, top in tops.items() if (local := folder.relative(path)))
    place, top = next(places)
    return {"uri": quote(place.relative_to(top).as_posix()), "uriBaseId": bases[top]}


def _result(finding: Finding, location: Mapping[str, str]) -> dict[str, Any]:
    region = {"startLine": finding.start_line, "endLine": finding.end_line}
    place = {"artifactLocation": location, "region": region}
    return {
        "ruleId": finding.rule,
        "ruleIndex": list(RULES).index(finding.rule),
        "level": _LEVELS[finding.confidence],
        "rank": _RANKS[finding.confidence],
        "message": {"text": finding.reason},
        "locations": [{"physicalLocation": place}],
        "properties": {"confidence": finding.confidence},
    }
