"""Add a test: the target writes one for the function at the cursor, and it is put below those that are there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from winnow_engine.core import UnitKind
from winnow_engine.editing.changes import FileEdit, LineEdit, inserting
from winnow_engine.editing.indentation import reindented
from winnow_engine.editing.passage import Passage, fenced, language_of, parsed_file, passage_at
from winnow_engine.editing.places import PlaceForTest, place_for_test
from winnow_engine.editing.request import Task, WantedEdit
from winnow_engine.editing.snippet import Piece, new_imports, pieces_of
from winnow_engine.errors import NoCodeError, NotApplicableError
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.lines import text_lines
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Cursor, Question

_MOST_HEAD = 30  # lines of the file of tests that show what it imports
_MOST_EXAMPLE = 60  # lines
_ABOUT_AS_LONG = "assert call(argument) == result\n" * 25
_MAIN = re.compile(r"if __name__\s*==")


def adding_tests(workspace: Workspace, request: WantedEdit) -> Task:
    """The task to add a test of the function at the cursor. NotApplicableError if there is none, or no place for it."""
    passage = passage_at(workspace, request.cursor)
    if passage.definition is None or language_of(passage.file) is None:
        raise NotApplicableError("put the cursor on the function or method to test")
    place = place_for_test(workspace, passage)
    shown = [passage.cursor]
    about = _new_file(passage, place)
    if place.file is not None:
        head, example = _existing(place.file, place)
        about = "\n\n".join([f"{place.path} begins\n{head}", *([f"A test there:\n{example}"] if example else [])])
        about += f"\n\nWrite one new test of `{passage.name}` for {place.path}, like those that are there."
        shown += [Cursor(place.path, place.example.first, place.example.last)] if place.example else []
    prompt = (
        f"{passage.fenced}\n\n{about} Check what the code above does, with values that are worked out from it. "
        "Answer with the new code alone, in one code block and nothing else."
    )
    return Task(
        f"Add a test of {passage.called}",
        Question(f"Write a test of {passage.called}: what does it do, how is it called and tested?", passage.cursor),
        shown,
        prompt,
        _ABOUT_AS_LONG,
        lambda code: _edit(passage, place, code),
    )


def _new_file(passage: Passage, place: PlaceForTest) -> str:
    return (
        f"There are no tests of `{passage.name}` yet. Write {place.path}: first its imports, among them that of "
        f"`{passage.name}` from {passage.file.path}, then one test of it."
    )


def _existing(file: IndexedFile, place: PlaceForTest) -> tuple[str, str]:
    """How a file of tests begins, and an example from it, as blocks of Markdown."""
    language = language_of(file)
    imports = [unit.end_line for unit in file.units if unit.kind is UnitKind.IMPORTS]
    head = fenced(_lines(file, 1, min(max(imports, default=1), _MOST_HEAD)), language)
    if place.example is None:
        last = file.lines.count
        return head, fenced(_lines(file, max(1, last - _MOST_EXAMPLE // 2), last), language) if last else ""
    first = place.example.first
    return head, fenced(_lines(file, first, min(place.example.last, first + _MOST_EXAMPLE)), language)


def _lines(file: IndexedFile, first: int, last: int) -> str:
    if not file.lines.count:
        return ""
    return "".join(f"{line}\n" for line in text_lines(file.text_of_lines(first, min(last, file.lines.count))))


def _edit(passage: Passage, place: PlaceForTest, code: str) -> FileEdit:
    pieces = pieces_of(code, place.path)
    if place.file is None:
        text = "\n".join(_kept(code, pieces, passage)).strip("\n")
        _check(text, passage)
        return FileEdit(place.path, None, (LineEdit(1, 0, f"{text}\n"),))
    return FileEdit(place.path, place.file.data, tuple(_edits(passage, place, place.file, pieces)))


def _kept(code: str, pieces: Sequence[Piece], passage: Passage) -> list[str]:
    """All lines of a new file, but for the function itself, which models like to repeat."""
    repeated = [piece for piece in pieces if piece.defines and piece.name == passage.name and not piece.inside]
    lines = text_lines(code)
    for piece in repeated:
        at = next((n for n in range(len(lines)) if tuple(lines[n : n + len(piece.lines)]) == piece.lines), None)
        if at is not None:
            del lines[at : at + len(piece.lines)]
    return lines


def _edits(passage: Passage, place: PlaceForTest, file: IndexedFile, pieces: Sequence[Piece]) -> Iterator[LineEdit]:
    """The imports that are new, then the test."""
    wanted = _renamed(list(_wanted(passage, place, file, pieces)), file)
    lines = [line for number, piece in enumerate(wanted) for line in ([""] if number else []) + list(piece.lines)]
    _check("\n".join(lines), passage)
    line, gap = _where(file, place)
    if place.example is not None:
        lines = reindented(lines, text_lines(file.text_of_lines(place.example.first, place.example.last)))
    imports = list(new_imports(pieces, file))
    yield from (one for one in imports if one.start_line <= line)
    yield inserting(file.data, line, [*[""] * gap, *lines] if file.data else lines)


def _wanted(passage: Passage, place: PlaceForTest, file: IndexedFile, pieces: Sequence[Piece]) -> Iterator[Piece]:
    """The pieces that are tests and what they need: neither imports, nor the function itself, nor what is there."""
    text = "\n".join(text_lines(file.text(0, len(file.data))))
    in_class = place.example is not None and "." in place.example.name
    for piece in pieces:
        if piece.kind is UnitKind.IMPORTS or not piece.lines or (piece.defines and piece.name == passage.name):
            continue
        if "\n".join(piece.lines) in text or _MAIN.match(piece.lines[0]):
            continue
        if not in_class or piece.kind in (UnitKind.FUNCTION, UnitKind.METHOD):
            yield piece


def _renamed(pieces: Sequence[Piece], file: IndexedFile) -> list[Piece]:
    """The pieces, those numbered whose name the file has already: in most languages they would replace it."""
    taken = {name for name, _ in parsed_file(file).outline.symbols}
    renamed = []
    for piece in pieces:
        name, number = piece.name, 2
        while piece.defines and name in taken:
            name, number = f"{piece.name}_{number}", number + 1
        taken.add(name)
        lines = piece.lines
        if name != piece.name:
            lines = tuple(re.sub(rf"\b{re.escape(piece.name)}\b", name, line) for line in lines)
        renamed.append(replace(piece, name=name, lines=lines))
    return renamed


def _where(file: IndexedFile, place: PlaceForTest) -> tuple[int, int]:
    """The line before which a test is put, and how many blank lines are to stand above it."""
    last = place.example.last if place.example else file.lines.count
    while last and not file.text_of_lines(last, last).strip():
        last -= 1
    if place.example is None or "." in place.example.name:
        return last + 1, 1
    language = language_of(file)
    return last + 1, 2 if language and language.name == "python" else 1


def _check(text: str, passage: Passage) -> None:
    """Raise NoCodeError for a test that does not name the function. A constructor is called by its class's name."""
    assert passage.definition is not None
    names = [name for name in passage.definition.name.split(".")[-2:] if name]
    if not any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names):
        raise NoCodeError(f"no test of {passage.name}")
