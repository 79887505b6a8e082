"""A change as the target reads it: the touched units with their lines before and after, at several lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

from winnow_engine.changes.changed import Changes
from winnow_engine.changes.units import ChangedUnit, CurrentLines, FileUnits
from winnow_engine.core import counted
from winnow_engine.index.name_rules import is_test
from winnow_engine.question import Cursor, ShownChange

_SHORT_LINES = 60
_CUT_LINES = 6
_MOST_BLANK = 2  # lines in a row
_MOST_NAMED = 40  # files or units in a list
_LIST_CHARACTERS = 1_200
_LONGEST_CHARACTERS = 400_000  # about 100,000 tokens, more than a target reads


@dataclass(frozen=True, slots=True)
class _Length:
    """Lines around a changed one (None: whole short units), lines of a run, characters in all; `cut` hides changes."""

    context: int | None
    lines: int | None = None
    characters: int = _LONGEST_CHARACTERS

    @property
    def cut(self) -> bool:
        """True if it leaves changed lines out."""
        return self.lines is not None


_WHOLE = tuple(map(_Length, (None, 3, 1, 0)))
_CUT = tuple(_Length(0, _CUT_LINES, characters) for characters in (_LONGEST_CHARACTERS, 30_000, 10_000, 3_000))


@dataclass(frozen=True, slots=True)
class TouchedFile:
    """A changed file with its units, and where its lines stand now."""

    units: FileUnits
    now: CurrentLines


@dataclass(frozen=True, slots=True)
class _Row:
    """A line of a unit's difference: what it is (" ", "-", "+"), its text, and the line of the new file it is at."""

    mark: str
    text: bytes
    after: int


def shown_changes(
    changes: Changes, touched: Sequence[TouchedFile], remarks: Sequence[str], count: Callable[[str], int]
) -> tuple[ShownChange, ...]:
    """The change at several lengths, longest first, with remarks where it is whole; at last only a list."""
    whole = [_shown(changes, touched, remarks, length, count) for length in _WHOLE]
    first_code = sorted(touched, key=lambda one: _order(one.units.file.path))
    cut = [_shown(changes, first_code, (), length, count) for length in _CUT]
    found = [shown for shown in (*whole, *cut) if shown is not None]
    return (*found, _list_only(changes, first_code, count))


def _order(path: str) -> tuple[bool, bool, str]:
    return path.endswith((".md", ".rst", ".txt")), is_test(path), path


def _shown(
    changes: Changes,
    touched: Sequence[TouchedFile],
    remarks: Sequence[str],
    length: _Length,
    count: Callable[[str], int],
) -> ShownChange | None:
    """The change at one length; None if it has to be whole and would be too long."""
    parts, places, left = [_title(changes)], list[Cursor](), length.characters
    for one, unit in _with_files(touched):
        new = [] if unit else [f"\n{one.units.file.path} ({one.units.file.what})"]
        for head, rows, place in _runs(unit, one.now, length.context) if unit else ():
            kept = rows[: length.lines]
            more = [f"… {counted(len(rows) - len(kept), 'more line')}"] if len(kept) < len(rows) else []
            new += [head, *_lines(kept), *more]
            places += [place] if place is not None and not more else []
        left -= sum(map(len, new)) + len(new)
        if left < 0 and not length.cut:
            return None
        if left < 0:
            parts.append("… and more, which is not shown")
            break
        parts += new
    parts += [*_others(changes), *remarks]
    text = "\n".join(parts)
    return ShownChange(text, tuple(places), count(text), complete=not length.cut)


def _with_files(touched: Sequence[TouchedFile]) -> Iterator[tuple[TouchedFile, ChangedUnit | None]]:
    for one in touched:
        yield one, None
        yield from ((one, unit) for unit in one.units.units)


def _list_only(changes: Changes, touched: Sequence[TouchedFile], count: Callable[[str], int]) -> ShownChange:
    lines = [_title(changes)]
    for one in touched[:_MOST_NAMED]:
        names = [unit.name for unit in one.units.units if unit.name]
        more = f": {', '.join(names[:8])}" if names else ""
        lines.append(f"{one.units.file.path} ({one.units.file.what}){more}")
    if len(touched) > _MOST_NAMED:
        lines.append(f"… {counted(len(touched) - _MOST_NAMED, 'more file')}")
    text = "\n".join(lines)[:_LIST_CHARACTERS]
    return ShownChange(text, (), count(text), complete=False)


def _title(changes: Changes) -> str:
    return f"What changed: {changes.title}. Lines that begin with - are no longer there, lines with + are new."


def _others(changes: Changes) -> Iterator[str]:
    unread = [file for file in changes.files if file.unread]
    for file in unread[:_MOST_NAMED]:
        yield f"{file.path} ({file.what}; {file.unread})"
    if len(unread) > _MOST_NAMED:
        yield f"… {counted(len(unread) - _MOST_NAMED, 'more file')} without text"


def _runs(
    unit: ChangedUnit, now: CurrentLines, context: int | None
) -> Iterator[tuple[str, Sequence[_Row], Cursor | None]]:
    """The parts of a unit's difference to show, each with its head and the place of its lines now."""
    rows = list(_rows(unit))
    if context is None and len(rows) > _SHORT_LINES:
        context = 3
    for run in _near_changes(rows, context):
        place = _place(run, now)
        yield _head(unit, place), run, place


def _rows(unit: ChangedUnit) -> Iterator[_Row]:
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


def _place(rows: Iterable[_Row], now: CurrentLines) -> Cursor | None:
    """Place of the rows that are not removed now, if they still are consecutive."""
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


def _lines(rows: Iterable[_Row]) -> Iterator[str]:
    """Rows as text; at most two blank ones in a row, because a notebook has them in place of its outputs."""
    for (mark, is_blank), run in groupby(rows, key=lambda row: (row.mark, not row.text.strip())):
        shown = islice(run, _MOST_BLANK if is_blank else None)
        yield from (f"{mark}{row.text.decode('utf-8', 'replace')}" for row in shown)
