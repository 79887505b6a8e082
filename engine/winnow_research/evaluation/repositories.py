"""The pinned repositories, each in one split: nothing learned from one split is judged on it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from winnow_engine.config import FileRules
from winnow_engine.index.files import Skipped, look
from winnow_research.errors import EvaluationError
from winnow_research.evaluation.archives import Archive, unpacked

_PINS = Path(__file__).parent / "repositories.toml"
_HISTORIES = Path(__file__).parent / "histories.toml"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that counts: its path relative to the root, with forward slashes, and its text."""

    path: str
    data: bytes


def scan(root: Path, rules: FileRules | None = None, skipped: Skipped | None = None) -> Iterator[SourceFile]:
    """Files that count, in path order. Raises WorkspaceError if `root` is not a readable directory."""
    for path, content in look(root, rules, skipped):
        yield SourceFile(path, content.read())


class Split(StrEnum):
    """What a repository may be used for: calibrating, choosing between designs, or judging."""

    CALIBRATION = "calibration"
    DEVELOPMENT = "development"
    TEST = "test"


@dataclass(frozen=True, slots=True)
class ReleaseHistory:
    """Pairs of consecutive releases, their change log's path, and, oldest first, those of which commits ask."""

    changelog: str
    pairs: tuple[tuple[Archive, Archive], ...]
    releases: tuple[Archive, ...] = ()

    @property
    def archives(self) -> tuple[Archive, ...]:
        """Every archive that it names, each once."""
        return tuple(dict.fromkeys([*(one for pair in self.pairs for one in pair), *self.releases]))


@dataclass(frozen=True, slots=True)
class PinnedRepository:
    """A project's sources: the files below `root`, a folder of the archive, that match `include` (all if empty)."""

    name: str
    language: str
    split: Split
    archive: Archive
    root: str = ""
    include: tuple[str, ...] = ()
    history: ReleaseHistory | None = None
    only_real: bool = False

    def files(self, archive: Archive | None = None, directory: Path | None = None) -> tuple[SourceFile, ...]:
        """The files as a workspace would have them, below `NAME/`. `archive` may be another release's.

        EvaluationError if the archive cannot be fetched, WorkspaceError if it has no folder `root`.
        """
        root = unpacked(archive or self.archive, directory) / self.root
        rules = FileRules(include=self.include)
        return tuple(SourceFile(f"{self.name}/{file.path}", file.data) for file in scan(root, rules))


def repositories(split: Split, task: str | None = None) -> tuple[PinnedRepository, ...]:
    """The repositories of one split, in the order of the data file, or those of them that a task asks about."""
    return tuple(one for one in _all() if one.split is split and (task in (None, "real") or not one.only_real))


def load(pins: Path, histories: Path) -> tuple[PinnedRepository, ...]:
    """Read the two data files. EvaluationError if two repositories share a name, or files of one archive."""
    released = tomllib.loads(histories.read_text("utf-8"))
    entries = tomllib.loads(pins.read_text("utf-8"))["repository"]
    found = tuple(_repository(entry, released.get(entry["name"])) for entry in entries)
    _check_apart(found)
    return found


@cache
def _all() -> tuple[PinnedRepository, ...]:
    return load(_PINS, _HISTORIES)


def _repository(entry: dict[str, Any], released: dict[str, Any] | None) -> PinnedRepository:
    archive = Archive(entry["registry"], entry["project"], entry["version"], entry["sha256"])
    return PinnedRepository(
        entry["name"],
        entry["language"],
        Split(entry["split"]),
        archive,
        entry.get("root", ""),
        tuple(entry.get("include", ())),
        _history(archive, released) if released else None,
        entry.get("only_real", False),
    )


def _history(archive: Archive, released: dict[str, Any]) -> ReleaseHistory:
    releases = {version: replace(archive, version=version, sha256=sha) for version, sha in released["sha256"].items()}
    return ReleaseHistory(
        released.get("changelog", ""),
        tuple((releases[old], releases[new]) for old, new in released.get("pairs", ())),
        tuple(releases[version] for version in released.get("releases", ())),
    )


def _check_apart(found: Iterable[PinnedRepository]) -> None:
    """Check that no name occurs twice, and no file in two repositories, which could stand in different splits."""
    seen: dict[str, PinnedRepository] = {}
    for one in found:
        if one.name in seen:
            raise EvaluationError(f"two repositories are called {one.name}: rename one")
        for other in seen.values():
            if other.archive.project == one.archive.project and _nested(other.root, one.root):
                raise EvaluationError(f"{other.name} and {one.name} share files of {one.archive.project}: part them")
        seen[one.name] = one


def _nested(first: str, second: str) -> bool:
    outer, inner = sorted((PurePosixPath(first), PurePosixPath(second)), key=lambda path: len(path.parts))
    return inner.is_relative_to(outer)
