"""Questions to begin with: each has files, or a documented symbol, that answer it well even to a small target."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

from winnow_engine.core import Cancellation, Unit, UnitKind
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Workspace
from winnow_engine.selection.overview import files_of_kind, starts_somewhere, units_running_tests

_MOST_CENTRAL, _MOST_DEFINING = 2, 1000  # symbols, and files looked at
_DISTINCT = re.compile(r"^[A-Z].*[a-z]|^[a-z].*[a-z\d][A-Z_][a-z]")  # `range` is used by all, but means another
_DOCUMENTED = re.compile(r"^\s*(?:\"\"\"|\'\'\'|/\*\*|//[/!]?|#|--)\W*(?:\w+\W+){5}", re.MULTILINE)
_FIRST_CHARACTERS, _MOST_CHARACTERS = 600, 4000  # of a definition, where documentation begins, and to be read whole
_FEWEST_USES, _UNITS_A_USE = 5, 20  # one use, and one more for every 20 units up to five
_IN_README = 3  # uses that a mention in the README counts for


def starter_questions(workspace: Workspace, cancellation: Cancellation) -> list[str]:
    """Questions to begin with, as far as this workspace has files that answer them, and about its central symbols."""
    asked = {
        "What does this repository do?": files_of_kind(workspace, "readme"),
        "Where does it start?": starts_somewhere(workspace),
        "How do I run its tests?": units_running_tests(workspace),
    }
    symbols = (f"How does `{name}` work?" for name in _central_symbols(workspace, cancellation))
    return [*(text for text, answered in asked.items() if answered), *symbols]


def _central_symbols(workspace: Workspace, cancellation: Cancellation) -> list[str]:
    """The documented classes and functions that most units use, of those that one unit alone defines; no tests."""
    tests = workspace.by_unit(workspace.file_table.are_tests.astype(np.float32))
    readmes = [workspace.files[number] for number in files_of_kind(workspace, "readme")[:1]]
    mentions = Counter(word for file in readmes for word in re.findall(r"\w+", file.text(0, len(file.data))))
    uses = dict[str, int]()
    for number, file in enumerate(workspace.files[:_MOST_DEFINING]):
        cancellation.check()
        for name, place in file.analysis.symbols.definitions:
            known = not tests[int(workspace.unit_starts[number]) + place] and _DISTINCT.search(name)
            if known and _tells_of_itself(file, file.units[place]) and len(workspace.symbols.defining(name)) == 1:
                users = sum(not tests[user] for user in workspace.symbols.using_name(name))
                uses[name] = users + _IN_README * mentions[name]
    least = min(_FEWEST_USES, 1 + len(workspace.units) // _UNITS_A_USE)
    return [name for name in sorted(uses, key=lambda name: -uses[name])[:_MOST_CENTRAL] if uses[name] >= least]


def _tells_of_itself(file: IndexedFile, unit: Unit) -> bool:
    """True for a class or function with documentation that a small target reads whole; none of a page's scripts."""
    if unit.kind not in (UnitKind.CLASS_HEADER, UnitKind.FUNCTION) or file.path.startswith(("doc/", "docs/")):
        return False
    text = file.text_of(unit)
    return len(text) <= _MOST_CHARACTERS and _DOCUMENTED.search(text[:_FIRST_CHARACTERS]) is not None
