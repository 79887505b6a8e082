"""The pinned histories: clones that the user has, each read as it was at one commit."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from winnow_engine.core import Cancellation
from winnow_engine.errors import NotARepositoryError, RevisionError
from winnow_engine.git.repository import Repository, open_repository
from winnow_research.errors import EvaluationError
from winnow_research.evaluation.repositories import Split, repositories

_PINS = Path(__file__).parent / "clones.toml"


@dataclass(frozen=True, slots=True)
class Pin:
    """A project's history up to a commit. `project` is its OWNER/NAME on GitHub, `language` what most of it is in."""

    name: str
    project: str
    commit: str
    language: str


def pins(split: Split) -> tuple[Pin, ...]:
    """The pinned histories of one split, in the order of the data file."""
    languages = {one.name: one.language for one in repositories(split)}
    return tuple(
        Pin(name, entry["project"], entry["commit"], languages[name])
        for name, entry in _entries().items()
        if name in languages
    )


def opened(wanted: Iterable[Pin], clones: Path, cancellation: Cancellation) -> dict[Pin, Repository]:
    """The clones, `clones`/OWNER/NAME each. EvaluationError if some lack, with the commands that get them."""
    found: dict[Pin, Repository] = {}
    missing: list[str] = []
    for pin in wanted:
        folder = clones / pin.project
        try:
            found[pin] = _opened(folder, pin, cancellation)
        except NotARepositoryError:
            missing.append(f"git clone --bare https://github.com/{pin.project} {folder}")
        except RevisionError:
            missing.append(f"git -C {folder} fetch https://github.com/{pin.project}  # it lacks {pin.commit[:10]}")
    if missing:
        commands = "\n".join(f"  {command}" for command in missing)
        raise EvaluationError(
            f"{len(missing)} of the clones of this split are not in {clones}; get them with\n{commands}"
        )
    return found


def at_commit(clone: Repository, commit: str, folder: Path) -> Repository:
    """A repository in an empty folder that is at a commit, and takes all objects from a clone. No file is checked out.

    Raises RevisionError if the clone lacks the commit.
    """
    commit = clone.commit(commit)
    objects = clone.git.run("rev-parse", "--path-format=absolute", "--git-path", "objects").decode().strip()
    for name in ("objects/info", "refs"):
        (folder / name).mkdir(parents=True)
    (folder / "objects/info/alternates").write_text(f"{objects}\n", "utf-8")
    (folder / "config").write_text("[core]\nrepositoryformatversion = 0\nbare = true\n", "utf-8")
    (folder / "HEAD").write_text(f"{commit}\n", "utf-8")
    return open_repository(folder, clone.git.cancellation)


def _opened(folder: Path, pin: Pin, cancellation: Cancellation) -> Repository:
    if not folder.is_dir():
        raise NotARepositoryError(f"there is no folder {folder}")
    repository = open_repository(folder, cancellation)
    repository.commit(pin.commit)
    return repository


@cache
def _entries() -> dict[str, dict[str, str]]:
    return tomllib.loads(_PINS.read_text("utf-8"))
