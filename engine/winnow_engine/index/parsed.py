"""A parsed file: its text with LF line ends, its lines, syntax tree and outline."""

from __future__ import annotations

from dataclasses import dataclass, field

from winnow_engine.index import languages
from winnow_engine.index.languages.base import PIECE_BYTES
from winnow_engine.index.lines import Lines, with_lf
from winnow_engine.index.outline import Outline, read_outline
from winnow_engine.index.syntax import GrammarError, Syntax

# Larger files are cut at blank lines: a tree takes some 50 times the memory of its text.
_MAX_PARSED_BYTES = 4_000_000


@dataclass(frozen=True)
class ParsedFile:
    """Line numbers are those of the original file. Byte offsets differ if the original holds CR.

    `syntax` is None for text in no known language; such a file has an empty outline.
    """

    text: bytes
    lines: Lines
    syntax: Syntax | None = None
    outline: Outline = field(default_factory=Outline)

    @property
    def piece_bytes(self) -> int:
        """The most bytes of a piece of code outside definitions."""
        return self.syntax.language.piece_bytes if self.syntax else PIECE_BYTES


def parse(path: str, data: bytes) -> ParsedFile:
    """Parse a file by its name. Raises GrammarError if its grammar cannot handle the text; `plain` always can."""
    language = languages.for_path(path)
    if language is None or len(data) > _MAX_PARSED_BYTES:
        return plain(data)
    text = with_lf(data)
    lines = Lines(text)
    syntax = Syntax(language, text)
    return ParsedFile(text, lines, syntax, read_outline(syntax, lines.count))


def syntax_errors(path: str, data: bytes) -> int | None:
    """Number of syntax errors in a file; None if no grammar can tell."""
    try:
        syntax = parse(path, data).syntax
    except GrammarError:
        return None
    return None if syntax is None else syntax.errors()


def plain(data: bytes) -> ParsedFile:
    """The file as text in no language. Never fails."""
    text = with_lf(data)
    return ParsedFile(text, Lines(text))
