"""A change as the target reads it: the touched units with their lines before and after, at several lengths.

Each run of lines has a head that says where it stands now, in the form in which an answer cites it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from winnow_engine.changes.changed import Changes
from winnow_engine.changes.now import NowLines
from winnow_engine.changes.units import ChangedUnit, FileUnits
from winnow_engine.core import Cursor, ShownChange

# How many lines around a changed one are shown, at each length; None shows the whole unit if it is short.
_CONTEXTS: tuple[int | None, ...] = (None, 3, 1, 0)
_SHORT_LINES = 60
_CUT_LINES = 6  # of each run of changed lines, where nothing longer fits
_MOST_NAMED = 40  # files or units in a list
_SHORTEST_CHARACTERS = 1_200


@dataclass(frozen=True, slots=True)
class TouchedFile:
    """A changed file with its units, and where its lines stand now."""

    units: FileUnits
    now: NowLines


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of a unit's difference: what it is (" ", "-", "+"), its text, and the line of the new file it is at."""

    mark: str
    text: bytes
    after: int


def shown_changes(
    changes: Changes, touched: Sequence[TouchedFile], remarks: Sequence[str], count: Callable[[str], int]
) -> tuple[ShownChange, ...]:
    """The change at several lengths, longest first, each but the last two followed by some remarks.

    `count` gives a text's tokens. The last length is only a list.
    """
    found = [_shown(changes, touched, remarks, context, None, count) for context in _CONTEXTS]
    found.append(_shown(changes, touched, (), 0, _CUT_LINES, count))
    return (*found, _list_only(changes, touched, count))


def _shown(
    changes: Changes,
    touched: Sequence[TouchedFile],
    remarks: Sequence[str],
    context: int | None,
    most: int | None,
    count: Callable[[str], int],
) -> ShownChange:
    parts, places = [_title(changes)], list[Cursor]()
    for one in touched:
        file = one.units.file
        parts.append(f"\n{file.path} ({file.what})")
        for unit in one.units.units:
            for head, rows, place in _runs(unit, one.now, context):
                kept = rows if most is None else rows[:most]
                cut = [f"… {len(rows) - len(kept)} more lines"] if len(kept) < len(rows) else []
                parts += [head, *(f"{row.mark}{_text(row.text)}" for row in kept), *cut]
                if place is not None and not cut:
                    places.append(place)
    parts += [*_others(changes), *remarks]
    text = "\n".join(parts)
    return ShownChange(text, tuple(places), count(text), complete=most is None)


def _list_only(changes: Changes, touched: Sequence[TouchedFile], count: Callable[[str], int]) -> ShownChange:
    lines = [_title(changes)]
    for one in touched[:_MOST_NAMED]:
        names = [unit.name for unit in one.units.units if unit.name]
        more = f": {', '.join(names[:8])}" if names else ""
        lines.append(f"{one.units.file.path} ({one.units.file.what}){more}")
    if len(touched) > _MOST_NAMED:
        lines.append(f"… {len(touched) - _MOST_NAMED} more files")
    text = "\n".join(lines)[:_SHORTEST_CHARACTERS]
    return ShownChange(text, (), count(text), complete=False)


def _title(changes: Changes) -> str:
    return f"What changed: {changes.title}. Lines that begin with - are no longer there, lines with + are new."


def _others(changes: Changes) -> Iterator[str]:
    """The files whose content is not shown."""
    unread = [file for file in changes.files if file.unread]
    for file in unread[:_MOST_NAMED]:
        yield f"{file.path} ({file.what}; {file.unread})"
    if len(unread) > _MOST_NAMED:
        yield f"… {len(unread) - _MOST_NAMED} more files without text"


def _runs(unit: ChangedUnit, now: NowLines, context: int | None) -> Iterator[tuple[str, Sequence[_Row], Cursor | None]]:
    """The parts of a unit's difference to show, each with its head and the place of its lines now."""
    rows = list(_rows(unit))
    if context is None and len(rows) > _SHORT_LINES:
        context = 3
    for run in _near_changes(rows, context):
        place = _place(run, now)
        yield _head(unit, place), run, place


def _rows(unit: ChangedUnit) -> Iterator[_Row]:
    """All lines of a unit, removed and new ones marked."""
    first = unit.after.start_line if unit.after else 1
    at = 1
    for hunk in unit.hunks:
        for line in range(at, hunk.after.start):
            yield _Row(" ", unit.after_lines[line - 1], first + line - 1)
        for line in hunk.before:
            yield _Row("-", unit.before_lines[line - 1], first + hunk.after.start - 1)
        for line in hunk.after:
            yield _Row("+", unit.after_lines[line - 1], first + line - 1)
        at = hunk.after.stop
    for line in range(at, len(unit.after_lines) + 1):
        yield _Row(" ", unit.after_lines[line - 1], first + line - 1)


def _near_changes(rows: Sequence[_Row], context: int | None) -> Iterator[Sequence[_Row]]:
    """The runs of rows within some rows of a change; all rows for None."""
    changed = [n for n, row in enumerate(rows) if row.mark != " "]
    if not changed:
        return  # it only moved
    if context is None:
        yield rows
        return
    start, end = changed[0] - context, changed[0] + context + 1
    for n in changed[1:]:
        if n - context > end:
            yield rows[max(start, 0) : end]
            start = n - context
        end = n + context + 1
    yield rows[max(start, 0) : end]


def _place(rows: Iterable[_Row], now: NowLines) -> Cursor | None:
    """Where the rows that are not removed stand now, if they still stand one after the other."""
    lines = [now.line(row.after) for row in rows if row.mark != "-"]
    if now.file is None or not lines or lines[0] is None:
        return None
    if lines != list(range(lines[0], lines[0] + len(lines))):
        return None
    return Cursor(now.file.path, lines[0], lines[0] + len(lines) - 1)


def _head(unit: ChangedUnit, place: Cursor | None) -> str:
    where = f"{place.path}:{place.start_line}-{place.end_line}" if place else unit.file.path
    gone = " (removed)" if unit.after is None else " (new)" if unit.before is None else ""
    name = f" {unit.name}" if unit.name else ""
    return f"@@ {where}{name}{gone}"


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")
