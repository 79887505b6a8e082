"""Relation of a workspace's units to a change by names, words and paths, as log-odds to add."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import PurePosixPath

import numpy as np

from winnow_engine.changes.diff_text import TouchedFile
from winnow_engine.core import Scores, UnitKind
from winnow_engine.index.name_rules import is_test
from winnow_engine.index.symbols import FileAnalysis, FileSymbols
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Cursor

# Log-odds, fitted on the histories of the calibration split, then rounded (docs/lab/history.md): for users of a changed
# name, more where it surely is this one and in the same file; for other definitions of it; for what the change uses;
# for the most words in common; for code of the same file; and for a test named after it.
_USER, _SURE, _NEAR, _DEFINER, _USED = 2.7, 1.2, 0.7, 1.9, 0.4
_WORDS, _SAME_FILE, _ITS_TEST = 3.8, 1.5, 2.0
_USUAL_USERS = 6  # from which on more users of a name each say less
_MOST_DEFINITIONS = 3  # of one name, beyond which nothing tells which one is meant
_MOST_CHARACTERS = 4_000  # of changed units, to look for their words
_LEAST_STEM = 3


def related(workspace: Workspace, touched: Sequence[TouchedFile]) -> Scores:
    """Float32 [U], 0 for changed units: high for users of changed names, other definitions, tests and code alike."""
    defined = _defined(touched)
    paths = {one.units.file.path for one in touched}
    near = _of_paths(workspace, lambda path: path in paths)
    scores = _WORDS * _alike(workspace, touched) + _SAME_FILE * near
    scores += _ITS_TEST * _of_paths(workspace, _its_test(touched))
    scores += np.maximum(_users_gain(workspace, defined, near), _definitions_gain(workspace, touched, defined))
    scores[list(changed_units(workspace, touched))] = 0
    return np.asarray(scores, np.float32)


def changed_units(workspace: Workspace, touched: Sequence[TouchedFile]) -> Iterator[int]:
    """The numbers of the units that hold the changed lines now."""
    for one in touched:
        for unit in one.units.units:
            lines = range(unit.after.start_line, unit.after.end_line + 1) if unit.after else ()
            now = [line for line in map(one.now.line, lines) if line is not None]
            if one.now.file is not None and now:
                yield from workspace.units_at(Cursor(one.now.file.path, now[0], now[-1]))


def users_of(workspace: Workspace, touched: Sequence[TouchedFile]) -> Iterator[tuple[str, int, bool]]:
    """(name, unit, whether it is a test): the units that use a name which a changed unit defines or defined."""
    own = set(changed_units(workspace, touched))
    for name in sorted(_defined(touched)):
        if len(workspace.symbols.defining(name)) <= _MOST_DEFINITIONS:
            for unit in _users(workspace, name):
                if unit not in own:
                    yield name, unit, is_test(workspace.units[unit][0].path)


def _users_gain(workspace: Workspace, names: Iterable[str], near: Scores) -> Scores:
    gain = np.zeros(len(workspace.units), np.float32)
    for name in sorted(names):
        users, definitions = _users(workspace, name), len(workspace.symbols.defining(name))
        # Certainty, from 0 to 1, that a use of the name means this definition, lower for names with many users.
        surety = float(1 / max(definitions, 1) * min(1.0, np.sqrt(_USUAL_USERS / max(len(users), 1))))
        gain[users] = np.maximum(gain[users], _USER + _SURE * surety + _NEAR * near[users])
    return gain


def _definitions_gain(workspace: Workspace, touched: Sequence[TouchedFile], defined: Collection[str]) -> Scores:
    gain = np.zeros(len(workspace.units), np.float32)
    for name in sorted(_names(touched, lambda symbols: symbols.references) - _defined(touched)):
        definitions = list(workspace.symbols.defining(name))
        if len(definitions) <= _MOST_DEFINITIONS:
            gain[definitions] = _USED
    for name in sorted(defined):
        gain[list(workspace.symbols.defining(name))] = _DEFINER
    return gain


def _alike(workspace: Workspace, touched: Sequence[TouchedFile]) -> Scores:
    """Similarity of units to the changed ones by BM25, float32 [U], from 0 to log 10."""
    lines = [line for one in touched for unit in one.units.units for line in unit.after_lines or unit.before_lines]
    text = b"\n".join(lines)[:_MOST_CHARACTERS].decode("utf-8", "replace")
    common = workspace.lexical.score(text)
    return np.asarray(np.log1p(9 * common / max(common.max(initial=0.0), 1e-6)), np.float32)


def _of_paths(workspace: Workspace, wanted: Callable[[str], bool]) -> Scores:
    """1 for the units of files with a path that is wanted, float32 [U]."""
    return workspace.by_unit(np.array([wanted(file.path) for file in workspace.files], np.float32))


def _its_test(touched: Sequence[TouchedFile]) -> Callable[[str], bool]:
    stems = {stem for one in touched if len(stem := PurePosixPath(one.units.file.path).stem) >= _LEAST_STEM}
    return lambda path: is_test(path) and any(stem in path for stem in stems)


def _users(workspace: Workspace, name: str) -> list[int]:
    found = workspace.symbols.using_name(name)
    return [unit for unit in found if workspace.units[unit][1].kind is not UnitKind.IMPORTS]


def _defined(touched: Sequence[TouchedFile]) -> set[str]:
    return _names(touched, lambda symbols: symbols.definitions)


def _names(touched: Sequence[TouchedFile], pairs: Callable[[FileSymbols], Iterable[tuple[str, int]]]) -> set[str]:
    """The names that some pairs of a name and a unit give to the changed units, on both sides."""
    return {
        name
        for one in touched
        for analysis, of_unit in _sides(one)
        for name, unit in pairs(analysis.symbols)
        if unit in of_unit
    }


def _sides(one: TouchedFile) -> Iterator[tuple[FileAnalysis, Collection[int]]]:
    before = {unit.before for unit in one.units.units}
    after = {unit.after for unit in one.units.units}
    yield one.units.before, {n for n, unit in enumerate(one.units.before.units) if unit in before}
    yield one.units.after, {n for n, unit in enumerate(one.units.after.units) if unit in after}
