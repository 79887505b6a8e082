"""An edit of one file: which lines give way to which text, and whether the file still parses with it."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from winnow_engine.index.lines import Lines, text_lines
from winnow_engine.index.outline import syntax_errors


@dataclass(frozen=True, slots=True)
class LineEdit:
    """Lines that give way to `text`, 1-based and inclusive. With `end_line = start_line - 1` text is only inserted."""

    start_line: int
    end_line: int
    text: str

    def __post_init__(self) -> None:
        assert 1 <= self.start_line <= self.end_line + 1, self


@dataclass(frozen=True, slots=True)
class FileEdit:
    """Edits of one file, in order and apart from each other. `before` is its content."""

    path: str
    before: bytes
    edits: tuple[LineEdit, ...]

    @property
    def after(self) -> bytes:
        """The content with the edits."""
        return b"".join(_pieces(self.before, self.edits))

    @property
    def diff(self) -> str:
        """A unified diff."""
        old, new = (text_lines(data.decode("utf-8", "replace")) for data in (self.before, self.after))
        return "\n".join(difflib.unified_diff(old, new, self.path, self.path, lineterm=""))


def _pieces(data: bytes, edits: Sequence[LineEdit]) -> Iterator[bytes]:
    lines, at = Lines(data), 0
    for edit in edits:
        start = lines.starts[edit.start_line - 1] if edit.start_line <= lines.count else len(data)
        yield data[at:start]
        yield edit.text.encode()
        at = lines.span(edit.start_line, edit.end_line)[1] if edit.end_line >= edit.start_line else start
    yield data[at:]


def replacing(data: bytes, start_line: int, end_line: int, new: Sequence[str]) -> Iterator[LineEdit]:
    """Edits by which some lines become `new`, which have no ends. White space at the end of a line is no difference."""
    end, lines = line_end(data), Lines(data)
    old = text_lines(data[slice(*lines.span(start_line, end_line))].decode("utf-8", "replace"))
    before, after = ([line.rstrip() for line in some] for some in (old, new))
    for tag, first, last, from_, to in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            text = "".join(f"{line}{end}" for line in new[from_:to])
            yield _at_the_end(data, lines, LineEdit(start_line + first, start_line + last - 1, text), end)


def inserting(data: bytes, line: int, new: Sequence[str]) -> LineEdit:
    """The edit that puts lines, which have no ends, before a line of a file, or at its end for the line after that."""
    end = line_end(data)
    return _at_the_end(data, Lines(data), LineEdit(line, line - 1, "".join(f"{one}{end}" for one in new)), end)


def line_end(data: bytes) -> str:
    """The line end of most lines of a file; LF if it has no lines."""
    pairs = data.count(b"\r\n")
    ends = {"\n": data.count(b"\n") - pairs, "\r\n": pairs, "\r": data.count(b"\r") - pairs}
    return max(ends, key=lambda end: ends[end])


def is_sound(edit: FileEdit) -> bool | None:
    """True if a grammar finds no more errors with the edit than without, None where there is no grammar."""
    before, after = (syntax_errors(edit.path, data) for data in (edit.before, edit.after))
    return None if after is None or before is None else after <= before


def _at_the_end(data: bytes, lines: Lines, edit: LineEdit, end: str) -> LineEdit:
    """The edit for a file whose last line has no end: what follows it begins a line, what replaces it gets no end."""
    if not data or data.endswith((b"\n", b"\r")) or not edit.text:
        return edit
    if edit.start_line > lines.count:
        return LineEdit(edit.start_line, edit.end_line, end + edit.text.removesuffix(end))
    text = edit.text.removesuffix(end) if edit.end_line == lines.count else edit.text
    return LineEdit(edit.start_line, edit.end_line, text)
