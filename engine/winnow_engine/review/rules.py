"""Findings that need no model: names that are gone and still used, and conflicts that were not resolved."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from winnow_engine.changes.diff_text import TouchedFile
from winnow_engine.core import UnitKind
from winnow_engine.index.workspace import Workspace
from winnow_engine.review.findings import Finding

STILL_USED, CONFLICT = "still-used", "conflict-marker"
RULES = {
    STILL_USED: "A name whose definition was removed is still used.",
    CONFLICT: "A conflict was not resolved.",
    "model": "A language model's finding at a line that exists.",
}
"""What each rule says, by name."""

_MARKER = re.compile(rb"(<{7}|>{7})( |$)")
_MOST_USES = 5  # of one name


def rule_findings(touched: Sequence[TouchedFile], workspace: Workspace) -> Iterator[Finding]:
    """All that the rules find, in the order of files and lines."""
    yield from _conflicts(touched)
    for name in sorted(_gone(touched, workspace)):
        yield from _uses(name, workspace)


def _conflicts(touched: Sequence[TouchedFile]) -> Iterator[Finding]:
    for one in touched:
        for hunk in one.units.file.hunks:
            for line in hunk.after:
                now = one.now.line(line)
                if now is not None and one.now.file and _MARKER.match(one.units.file.after_lines[line - 1]):
                    yield Finding(one.now.file.path, now, now, "a conflict marker was left here", "high", CONFLICT)


def _gone(touched: Sequence[TouchedFile], workspace: Workspace) -> set[str]:
    """The names that the change took the definition of, and that nothing defines now."""
    before = {name for one in touched for name, _ in one.units.before.symbols.definitions}
    after = {name for one in touched for name, _ in one.units.after.symbols.definitions}
    return {name for name in before - after if not len(workspace.symbols.defining(name))}


def _uses(name: str, workspace: Workspace) -> Iterator[Finding]:
    """Uses of a name. An attribute may be anybody's, so only uses as a plain name count."""
    word = re.compile(rb"(?<![\w.])%b(?!\w)" % re.escape(name.encode()))
    found = 0
    for number in workspace.symbols.using_name(name):
        file, unit = workspace.units[number]
        match = word.search(file.data, unit.start_byte, unit.end_byte)
        if match is None or unit.kind in (UnitKind.SECTION, UnitKind.BLOCK) or found == _MOST_USES:
            continue
        found += 1
        line = file.lines.line_of(match.start())
        reason = f"`{name}` is used here, but this change removed its definition"
        yield Finding(file.path, line, line, reason, "medium", STILL_USED)
