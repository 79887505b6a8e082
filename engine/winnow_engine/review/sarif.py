"""A review as SARIF 2.1.0 (OASIS), which CI services show at the lines of a pull request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from winnow_engine.core import Folder
from winnow_engine.errors import GitError
from winnow_engine.git.repository import open_repository
from winnow_engine.review.findings import Finding
from winnow_engine.review.review import Review
from winnow_engine.review.rules import RULES

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {"high": "warning", "medium": "warning", "low": "note"}
_RANKS = {"high": 90.0, "medium": 60.0, "low": 30.0}


def sarif(review: Review, version: str, folders: Sequence[Folder]) -> dict[str, Any]:
    """The document about folders of a workspace, whose tool is this version of Winnow.

    Paths begin at the top of the folder's repository, which `%SRCROOT%` is: services look for files from there. Further
    repositories have further bases.
    """
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in RULES.items()]
    driver = {"name": "Winnow", "version": version, "rules": rules}
    tops = {folder: _top(folder) for folder in folders}
    bases = {top: f"%SRCROOT{number or ''}%" for number, top in enumerate(dict.fromkeys(tops.values()))}
    results = [_result(finding, _place(finding.path, tops, bases)) for finding in review.findings]
    uris = {name: {"uri": f"{top.as_uri().rstrip('/')}/"} for top, name in bases.items()}
    run = {"tool": {"driver": driver}, "originalUriBaseIds": uris, "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _top(folder: Folder) -> Path:
    """The top of a folder's repository, the folder itself if it lies in none."""
    try:
        return open_repository(folder.root).top
    except GitError:
        return folder.root.resolve()


def _place(path: str, tops: Mapping[Folder, Path], bases: Mapping[Path, str]) -> dict[str, str]:
    """The location of a workspace path, relative to its base."""
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
