"""A file as the steps of the index see it: its text with LF line ends, its lines, tree and outline."""

from __future__ import annotations

from dataclasses import dataclass, field

from winnow_engine.index import languages
from winnow_engine.index.languages.base import PIECE_BYTES
from winnow_engine.index.lines import Lines, with_lf
from winnow_engine.index.outline import Outline, read_outline
from winnow_engine.index.syntax import Syntax

# Larger files are cut at blank lines: a tree takes some 50 times the memory of its text.
_MAX_PARSED_BYTES = 4_000_000


@dataclass(frozen=True)
class ParsedFile:
    """A file whose line numbers are those of the original; its bytes are not, where the original holds CR.

    `syntax` is None for text in no known language; such a file has an empty outline.
    """

    text: bytes
    lines: Lines
    syntax: Syntax | None = None
    outline: Outline = field(default_factory=Outline)

    @property
    def piece_bytes(self) -> int:
        """The size of the pieces that what is no definition is cut to."""
        return self.syntax.language.piece_bytes if self.syntax else PIECE_BYTES


def parse(path: str, data: bytes) -> ParsedFile:
    """Parse a file by its name. Raises GrammarError when its grammar cannot cope; see `plain`."""
    language = languages.for_path(path)
    if language is None or len(data) > _MAX_PARSED_BYTES:
        return plain(data)
    text = with_lf(data)
    lines = Lines(text)
    syntax = Syntax(language, text)
    return ParsedFile(text, lines, syntax, read_outline(syntax, lines.count))


def plain(data: bytes) -> ParsedFile:
    """The file as text in no language, which never fails."""
    text = with_lf(data)
    return ParsedFile(text, Lines(text))
