"""Functions, classes and sections that a change touches. Both sides are paired by name, then by lines in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from winnow_engine.changes.changed import ChangedFile, Hunk, hunks, line_texts, unchanged
from winnow_engine.core import Unit
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.symbols import FileAnalysis, analyse
from winnow_engine.index.workspace import Workspace


@dataclass(frozen=True)
class CurrentLines:
    """A changed file's lines in the workspace. `file` is None if the workspace does not have the file."""

    file: IndexedFile | None
    moved: Mapping[int, int] | None

    def line(self, after: int) -> int | None:
        """The number that a line has now; None if it is there no longer."""
        if self.file is None:
            return None
        return after if self.moved is None else self.moved.get(after)


def current_lines(file: ChangedFile, workspace: Workspace) -> CurrentLines:
    """The table of a file. Nothing is computed for one that is as the change left it."""
    present = workspace.file_at(file.path)
    if present is None or file.after is None:
        return CurrentLines(None, None)
    same = present.data == file.after
    return CurrentLines(present, None if same else unchanged(file.after_lines, line_texts(present.data)))


@dataclass(frozen=True)
class ChangedUnit:
    """A unit with changed lines: as it was, None if it is new, and as it is, None if it is gone. Not both are None."""

    file: ChangedFile
    before: Unit | None
    after: Unit | None

    @property
    def name(self) -> str:
        """Its name, the new one if it has another now; "" if it has none."""
        return (self.after and self.after.name) or (self.before and self.before.name) or ""

    @cached_property
    def before_lines(self) -> list[bytes]:
        """Its lines as they were."""
        return self.file.before_lines[self.before.start_line - 1 : self.before.end_line] if self.before else []

    @cached_property
    def after_lines(self) -> list[bytes]:
        """Its lines as they are."""
        return self.file.after_lines[self.after.start_line - 1 : self.after.end_line] if self.after else []

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        """The lines that differ, counted within the unit; none if it only moved within its file."""
        return hunks(self.before_lines, self.after_lines)


@dataclass(frozen=True)
class FileUnits:
    """A changed file with both its analyses, and its changed units in the order of the new file, removed ones last."""

    file: ChangedFile
    before: FileAnalysis
    after: FileAnalysis
    units: tuple[ChangedUnit, ...]


def file_units(file: ChangedFile) -> FileUnits:
    """The units of a file that have a line which differs. Each such line is in exactly one of them."""
    before = analyse(file.before_path or file.path, file.before or b"")
    after = analyse(file.path, file.after or b"")
    gone = _holding(before.units, (line for hunk in file.hunks for line in hunk.before))
    new = _holding(after.units, (line for hunk in file.hunks for line in hunk.after))
    partner = _partners(file, before.units, after.units)
    origin = {after_unit: before_unit for before_unit, after_unit in partner.items()}
    now = sorted(new | {partner[unit] for unit in gone if unit in partner})
    paired = [(origin.get(unit), unit) for unit in now]
    removed = [(unit, None) for unit in sorted(gone) if unit not in partner]
    changed = tuple(
        ChangedUnit(file, None if old is None else before.units[old], None if new is None else after.units[new])
        for old, new in [*paired, *removed]
    )
    return FileUnits(file, before, after, changed)


def _holding(units: Sequence[Unit], lines: Iterable[int]) -> set[int]:
    at = _unit_of_line(units)
    return {at[line] for line in lines if line in at}


def _unit_of_line(units: Sequence[Unit]) -> dict[int, int]:
    return {line: n for n, unit in enumerate(units) for line in range(unit.start_line, unit.end_line + 1)}


def _partners(file: ChangedFile, before: Sequence[Unit], after: Sequence[Unit]) -> dict[int, int]:
    """Index of the unit after the change for each unit before it; none twice."""
    ours, theirs = _unique(before), _unique(after)
    found = {ours[key]: theirs[key] for key in ours if key in theirs}
    free_before, free_after = set(range(len(before))) - set(found), set(range(len(after))) - set(found.values())
    for old, new, _ in _by_lines(file, before, after):
        if old in free_before and new in free_after:
            found[old] = new
            free_before.remove(old)
            free_after.remove(new)
    return found


def _unique(units: Sequence[Unit]) -> Mapping[tuple[str, str], int]:
    counts = Counter((unit.kind.value, unit.name) for unit in units)
    named = ((n, (unit.kind.value, unit.name)) for n, unit in enumerate(units) if unit.name)
    return {key: n for n, key in named if counts[key] == 1}


def _by_lines(file: ChangedFile, before: Sequence[Unit], after: Sequence[Unit]) -> list[tuple[int, int, int]]:
    of_before, of_after = _unit_of_line(before), _unit_of_line(after)
    common: Counter[tuple[int, int]] = Counter()
    for old, new in unchanged(file.before_lines, file.after_lines).items():
        if file.before_lines[old - 1].strip() and old in of_before and new in of_after:
            common[of_before[old], of_after[new]] += 1
    return [(old, new, count) for (old, new), count in sorted(common.items(), key=lambda one: (-one[1], one[0]))]
