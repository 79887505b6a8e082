"""What the changed units use and what uses them, as log-odds to add to the units of a workspace, by names."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from winnow_engine.changes.compact import TouchedFile
from winnow_engine.core import Scores, UnitKind
from winnow_engine.index.name_rules import is_test
from winnow_engine.index.symbols import FileAnalysis
from winnow_engine.index.workspace import Workspace

_USER, _USED = 5.0, 3.0  # log-odds for the only user of the only definition, and for the only definition used
_USUAL_USERS = 6  # from which on more users of a name each say less
_MOST_DEFINITIONS = 3  # of one name, beyond which nothing tells which one is meant


def related(workspace: Workspace, touched: Sequence[TouchedFile]) -> Scores:
    """Float32 [U]: high for users of what changed, its tests among them, and for definitions that it uses."""
    scores = np.zeros(len(workspace.units), np.float32)
    for name in sorted(_defined(touched)):
        _raise(scores, _users(workspace, name), _USER * _surety(workspace, name))
    for name in sorted(_used(touched)):
        if len(workspace.symbols.defining(name)) <= _MOST_DEFINITIONS:
            _raise(scores, workspace.symbols.defining(name), _USED)
    scores[list(changed_units(workspace, touched))] = 0
    return scores


def changed_units(workspace: Workspace, touched: Sequence[TouchedFile]) -> Iterator[int]:
    """The numbers of the units that hold the changed lines now."""
    for one in touched:
        for unit in one.units.units:
            lines = range(unit.after.start_line, unit.after.end_line + 1) if unit.after else ()
            now = [line for line in map(one.now.line, lines) if line is not None]
            if one.now.file is not None and now:
                yield from workspace.units_at(one.now.file.path, now[0], now[-1])


def users_of(workspace: Workspace, touched: Sequence[TouchedFile]) -> Iterator[tuple[str, int, bool]]:
    """(name, unit, whether it is a test): the units that use a name which a changed unit defines or defined."""
    own = set(changed_units(workspace, touched))
    for name in sorted(_defined(touched)):
        if len(workspace.symbols.defining(name)) <= _MOST_DEFINITIONS:
            for unit in _users(workspace, name):
                if unit not in own:
                    yield name, unit, is_test(workspace.units[unit][0].path)


def _users(workspace: Workspace, name: str) -> list[int]:
    """The units that use a name, other than to import it."""
    found = workspace.symbols.using_name(name)
    return [unit for unit in found if workspace.units[unit][1].kind is not UnitKind.IMPORTS]


def _raise(scores: Scores, units: Sequence[int], least: float) -> None:
    places = list(units)
    scores[places] = np.maximum(scores[places], np.float32(least))


def _surety(workspace: Workspace, name: str) -> float:
    """How surely a use of a name means this definition, and how much one of its users says; from 0 to 1."""
    definitions, users = len(workspace.symbols.defining(name)), len(_users(workspace, name))
    return float(1 / max(definitions, 1) * min(1.0, np.sqrt(_USUAL_USERS / max(users, 1))))


def _defined(touched: Sequence[TouchedFile]) -> set[str]:
    """The names that the changed units define, or defined."""
    return {
        name
        for one in touched
        for analysis, of_unit in _sides(one)
        for name, unit in analysis.symbols.definitions
        if unit in of_unit
    }


def _used(touched: Sequence[TouchedFile]) -> set[str]:
    """The names that the changed units use, or used."""
    return {
        name
        for one in touched
        for analysis, of_unit in _sides(one)
        for name, unit in analysis.symbols.references
        if unit in of_unit
    } - _defined(touched)


def _sides(one: TouchedFile) -> Iterator[tuple[FileAnalysis, Collection[int]]]:
    """Both analyses of a file, each with the indices of its changed units."""
    before = {unit.before for unit in one.units.units}
    after = {unit.after for unit in one.units.units}
    yield one.units.before, {n for n, unit in enumerate(one.units.before.units) if unit in before}
    yield one.units.after, {n for n, unit in enumerate(one.units.after.units) if unit in after}
