"""The code that names and files lead to, where a model has named them in a line.

Nothing of the line counts but what is the name of a definition or the path of a file of the workspace.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from winnow_engine.core import UnitKind
from winnow_engine.index.workspace import Workspace
from winnow_engine.selection.ranking import Ranked

_LONGEST_LINE, _MOST_ITEMS = 400, 8  # characters, and items
# An item is a name or a path, and nothing else but marks, such as brackets behind it: prose is not searched for names.
_ITEM = re.compile(r"(?:\./)?([\w$@./:#-]*[\w$])(?:\([^)]*\))?")
_MARKS = " \t`'\"*-"
_PARTS = re.compile(r"\.|::|#")
_SHORTEST_NAME = 3
_MOST_DEFINITIONS = 3  # of one name, beyond which nothing tells which one is meant


@dataclass(frozen=True, slots=True)
class Named:
    """What a line names that leads to code which can be added, as the line has it, and this code, the surest first."""

    words: tuple[str, ...]
    units: tuple[int, ...]


def named_in(line: str, ranked: Ranked, shown: frozenset[int]) -> Named:
    """What a line of names and paths, separated by commas, leads to beside the units that are `shown`.

    A name leads to what defines it, and a class to its members as well; a file leads to all its units. Members and
    units of a file come last, in the order of their worth.
    """
    sure, other, words = dict[int, None](), set[int](), list[str]()
    for word in _items(line):
        definitions, members = _led_to(word, ranked.workspace)
        new = [unit for unit in definitions if unit not in shown and ranked.unit_tokens[unit]]
        more = [unit for unit in members if unit not in shown and ranked.unit_tokens[unit]]
        if new or more:
            words.append(word)
        sure |= dict.fromkeys(new)
        other.update(more)
    worth = ranked.worth
    rest = sorted(other.difference(sure), key=lambda unit: (-worth[unit], unit))
    return Named(tuple(words), (*sure, *rest))


def _items(line: str) -> Iterator[str]:
    """The names and paths of a line, each once."""
    first = line.strip()[:_LONGEST_LINE].splitlines()[:1]
    items = [item.lstrip(_MARKS).rstrip(_MARKS + ".") for one in first for item in one.split(",")]
    yield from dict.fromkeys(match[1] for item in items[:_MOST_ITEMS] if (match := _ITEM.fullmatch(item)))


def _led_to(word: str, workspace: Workspace) -> tuple[list[int], list[int]]:
    """The definitions that a name means, and what belongs to them, or the units of a file."""
    file = _file(word, workspace)
    if file is not None:
        start, end = workspace.unit_starts[file : file + 2]
        return [], list(range(start, end))
    definitions = _definitions(word, workspace)
    return definitions, [member for unit in definitions for member in _members(unit, workspace)]


def _file(word: str, workspace: Workspace) -> int | None:
    """The place of the only file with this path, or whose path ends with it."""
    if workspace.file_at(word) is not None:
        return workspace.file_number(word)
    found = [n for n, file in enumerate(workspace.files) if "." in word and file.path.endswith(f"/{word}")]
    return found[0] if len(found) == 1 else None


def _definitions(word: str, workspace: Workspace) -> list[int]:
    """The units that define a name, unless there are too many; of `a.b` those named so, else `b` in files named `a`."""
    *before, last = parts = _PARTS.split(word)
    if len(last) < _SHORTEST_NAME:
        return []
    found = {number: workspace.units[number] for number in workspace.symbols.defining(last)}
    meant = list(found)
    if before:
        so_named = [number for number, (_, unit) in found.items() if f".{unit.name}".endswith("." + ".".join(parts))]
        meant = so_named or [number for number, (file, _) in found.items() if before[-1].lower() in file.path.lower()]
    return meant if len(meant) <= _MOST_DEFINITIONS else []


def _members(unit: int, workspace: Workspace) -> list[int]:
    """The units that stand under a class header."""
    file, found = workspace.units[unit]
    if found.kind is not UnitKind.CLASS_HEADER:
        return []
    start = int(workspace.unit_starts[workspace.file_number(file.path)])
    return [start + n for n, other in enumerate(file.units) if other.parent == unit - start]
