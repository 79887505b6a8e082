"""Outline of a folder or a file: names, not code."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from winnow_engine.core import DEFINITIONS, Unit, UnitKind
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Workspace

_NAMED = (*DEFINITIONS, UnitKind.SECTION, UnitKind.TOP_LEVEL)


@dataclass(frozen=True, slots=True)
class ListedFolder:
    """A folder, with the number of its files at any depth."""

    path: str
    files: int


def contents(workspace: Workspace, path: str) -> Iterator[ListedFolder | IndexedFile]:
    """The folders and files of a folder, or one file; "" and "." are the workspace. PositionError if there is none.

    A folder that holds nothing but another one is listed as that.
    """
    name = path.strip("/").removeprefix("./")
    name = "" if name == "." else name
    inside = f"{name}/" if name else ""
    files = [file for file in workspace.files if file.path == name or file.path.startswith(inside)]
    if not files:
        raise workspace.missing(path)
    below = defaultdict[str, list[str]](list)
    for file in files if files[0].path != name else ():
        first, *rest = file.path.removeprefix(inside).split("/")
        if rest:
            below[first].append(posixpath.dirname(file.path))
    for _, folders in sorted(below.items()):
        yield ListedFolder(posixpath.commonpath(folders), len(folders))
    for file in files:
        if file.path == name or "/" not in file.path.removeprefix(inside):
            yield file


def named_units(file: IndexedFile) -> list[Unit]:
    """The definitions and sections of a file, in order."""
    return [unit for unit in file.units if unit.name and unit.kind in _NAMED]
