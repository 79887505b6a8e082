"""The pinned projects whose sources the adapter is trained on."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from winnow_research.errors import TrainingError
from winnow_research.evaluation.archives import Archive
from winnow_research.evaluation.repositories import PinnedRepository, Split, repositories

_PINS = Path(__file__).parent / "projects.toml"

LICENCES = frozenset((
    "MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC", "Zlib", "BSL-1.0", "PSF-2.0", "Unlicense", "HPND",
    "curl", "FTL", "PostgreSQL", "MPL-2.0", "EPL-1.0", "EPL-2.0", "LGPL-2.1", "LGPL-3.0",
))  # fmt: skip
"""Permissive licences, and those with a weak copyleft, by SPDX identifier."""


@dataclass(frozen=True)
class Project:
    """One archive of sources, its main language and its licence."""

    name: str
    language: str
    licence: str
    archive: Archive

    @cached_property
    def repository(self) -> PinnedRepository:
        """The project as a repository of the evaluation; its files are those of a workspace."""
        return PinnedRepository(self.name, self.language, Split.CALIBRATION, self.archive)


def load(pins: Path = _PINS) -> tuple[Project, ...]:
    """The projects of a data file, in its order. TrainingError for a licence or a project that may not be used."""
    found = tuple(
        Project(
            entry["name"],
            entry["language"],
            entry["licence"],
            Archive(entry["registry"], entry["project"], entry["version"], entry["sha256"]),
        )
        for entry in tomllib.loads(pins.read_text("utf-8"))["project"]
    )
    _check(found)
    return found


def _check(projects: tuple[Project, ...]) -> None:
    held_out = [one.archive for split in Split for one in repositories(split)]
    names = {(archive.registry, archive.project.lower()) for archive in held_out}
    for project in projects:
        if project.licence not in LICENCES:
            raise TrainingError(f"{project.name} is under {project.licence}, which is not among the licences allowed")
        if (project.archive.registry, project.archive.project.lower()) in names:
            raise TrainingError(f"{project.name} is a project of the evaluation: nothing may be trained on it")
