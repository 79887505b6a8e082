"""Outline of a folder or a file: names, not code."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from winnow_engine.core import DEFINITIONS, Unit, UnitKind
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.relations import line_of_name
from winnow_engine.index.scope import files_in
from winnow_engine.index.workspace import Workspace

_NAMED = (*DEFINITIONS, UnitKind.SECTION, UnitKind.TOP_LEVEL)


@dataclass(frozen=True, slots=True)
class ListedFolder:
    """A folder, with the number of its files at any depth."""

    path: str
    files: int


def contents(workspace: Workspace, path: str) -> Iterator[ListedFolder | IndexedFile]:
    """The folders and files of a folder, or one file; or the files of a glob. PositionError if there is none.

    "" and "." are the workspace. A folder that holds nothing but another one is listed as that.
    """
    name = path.strip("/").removeprefix("./")
    name = "" if name == "." else name
    inside = f"{name}/" if name else ""
    files = [file for file in workspace.files if file.path == name or file.path.startswith(inside)]
    if not files and "*" in name:
        yield from (workspace.files[number] for number in files_in(workspace, [path]))
        return
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
    """The definitions and sections of a file, in order; of a constant or a type without a unit, its line."""
    inner = defaultdict[int, list[str]](list)
    for name, number in file.analysis.symbols.definitions:
        inner[number].append(name)
    found = list[Unit]()
    for number, unit in enumerate(file.units):
        if unit.name and unit.kind in _NAMED:
            found.append(unit)
        elif unit.kind is UnitKind.TOP_LEVEL and not unit.name:
            found += sorted((_line(name, file, unit) for name in inner[number]), key=lambda one: one.start_line)
    return found


def _line(name: str, file: IndexedFile, unit: Unit) -> Unit:
    line = line_of_name(name, file, unit, defined=True)
    return Unit(unit.kind, name, *file.lines.span(line, line), line, line)
