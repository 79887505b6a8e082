"""Makes folders hold the files of a repository in some state, writing only what differs from the state before."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from winnow_engine.git.objects import blobs
from winnow_engine.git.repository import Repository
from winnow_engine.git.trees import REGULAR, tree_files
from winnow_research.evaluation.histories.clones import at_commit


def files_at(repository: Repository, commit: str) -> dict[str, bytes]:
    """A commit's files, by path; those that the clone lacks are left out."""
    entries = [entry for entry in tree_files(repository, commit) if entry.mode in REGULAR]
    contents = blobs(repository.git, [entry.blob for entry in entries])
    return {entry.path: contents[entry.blob] for entry in entries if entry.blob in contents}


def lay_out(folder: Path, clone: Repository, commit: str, files: Mapping[str, bytes]) -> Repository:
    """The repository of a folder that is at a commit and has these files, which may differ from the commit's."""
    shutil.rmtree(folder / ".git", ignore_errors=True)
    for path in list(_present(folder)):
        if path not in files:
            (folder / path).unlink()
    for path, data in files.items():
        _write(folder / path, data)
    return at_commit(clone, commit, folder, bare=False)


def _present(folder: Path) -> Iterator[str]:
    return (place.relative_to(folder).as_posix() for place in folder.rglob("*") if place.is_file())


def _write(place: Path, data: bytes) -> None:
    if place.is_dir():
        shutil.rmtree(place)  # the files in it are gone
    for above in place.parents:
        if above.is_file():
            above.unlink()
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.is_file() or place.read_bytes() != data:
        place.write_bytes(data)
