"""Questions about a change, with the text, units and relations that the engine needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from winnow_engine.changes.changed import NOTHING, Changes
from winnow_engine.changes.diff_text import TouchedFile, shown_changes
from winnow_engine.changes.reading import read_changes
from winnow_engine.changes.related import related, users_of
from winnow_engine.changes.units import current_lines, file_units
from winnow_engine.core import Cancellation, Citation
from winnow_engine.errors import NothingChangedError
from winnow_engine.index.languages import for_file
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.question import Change, CodeAtCursor, Question

_MOST_USERS = 10
_MOST_CHARACTERS = 2_000  # for the drafter, which reads less


def asked_changes(
    question: Question, sources: Sources, workspace: Workspace, cancellation: Cancellation
) -> Changes | None:
    """The changes that a question names; None if it is about none. Raises GitError, and CancelledError."""
    if question.changes is None:
        return None
    asked = replace(sources, folders=question.changed_in or sources.folders)
    changes = read_changes(asked, workspace, question.changes, cancellation)
    if not changes.files:
        raise NothingChangedError(f"{NOTHING}: {changes.title}")
    return changes


def with_change(
    question: Question, changes: Changes | None, workspace: Workspace, count: Callable[[str], int]
) -> Question:
    """The question with what the engine needs to know of the changes; `count` gives a text's tokens."""
    if changes is None:
        return question
    touched = touched_files(changes, workspace)
    change = Change(
        shown=shown_changes(changes, touched, list(_users(workspace, touched)), count),
        removed=tuple(_removed(touched)),
        code=_code(touched),
        related=related(workspace, touched),
    )
    return replace(question, change=change)


def touched_files(changes: Changes, workspace: Workspace) -> list[TouchedFile]:
    """The files with lines that differ, cut into units."""
    return [TouchedFile(file_units(file), current_lines(file, workspace)) for file in changes.files if file.hunks]


def _users(workspace: Workspace, touched: Sequence[TouchedFile]) -> Iterator[str]:
    found = dict.fromkeys(users_of(workspace, touched))
    for title, tests in (("Used by", False), ("Tested by", True)):
        places: dict[str, list[str]] = {}
        for name, unit, test in found:
            if test is tests:
                file, where = workspace.units[unit]
                places.setdefault(f"{file.path}:{where.start_line}", []).append(name)
        if places:
            shown = [f"{place} ({', '.join(names[:3])})" for place, names in list(places.items())[:_MOST_USERS]]
            more = f" and {len(places) - _MOST_USERS} more" if len(places) > _MOST_USERS else ""
            yield f"{title}: {', '.join(shown)}{more}"


def _removed(touched: Sequence[TouchedFile]) -> Iterator[tuple[str, Citation]]:
    """The lines that are gone, with their places before the change; not of files outside the folder."""
    inside = (one.units.file for one in touched if ".." not in (one.units.file.before_path or "").split("/"))
    for file in inside:
        for hunk in file.hunks:
            for line in hunk.before:
                place = Citation(file.before_path or file.path, line, line, file.commit)
                yield file.before_lines[line - 1].decode("utf-8", "replace"), place


def _code(touched: Sequence[TouchedFile]) -> CodeAtCursor:
    lines: list[bytes] = []
    for one in touched:
        for unit in one.units.units:
            whole = unit.after_lines or unit.before_lines
            changed = [unit.after_lines[line - 1] for hunk in unit.hunks for line in hunk.after]
            lines += whole[:1] + [line for line in changed if line.strip() and line not in whole[:1]]
    first = touched[0].units.file if touched else None
    language = first and for_file(first.path, first.after or first.before or b"")
    text = b"\n".join(lines).decode("utf-8", "replace")[:_MOST_CHARACTERS]
    return CodeAtCursor(text, language.name if language else "")
