"""Line tables: the bytes at which lines begin and end."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

_TEXT_LINE_END = re.compile("\r\n|\n|\r")


class Lines:
    """Line table of some bytes. Lines are 1-based; LF, CRLF and a lone CR end a line, as in the LSP.

    Only lines with bytes count: `b"a\\n"` is one line, and an empty file has none. Line `i + 1` begins at byte
    `starts[i]`.
    """

    def __init__(self, data: bytes) -> None:
        lines = data.splitlines(keepends=True)
        self.starts = tuple(accumulate(map(len, lines[:-1]), initial=0)) if lines else ()
        self._size = len(data)

    @property
    def count(self) -> int:
        """Number of lines."""
        return len(self.starts)

    def line_of(self, byte: int) -> int:
        """The line that holds this byte offset; the last line for an offset past the end."""
        return bisect_right(self.starts, byte)

    def span(self, start_line: int, end_line: int) -> tuple[int, int]:
        """The bytes [start, end) of these lines, inclusive of both and of the last one's line end."""
        end = self.starts[end_line] if end_line < self.count else self._size
        return self.starts[start_line - 1], end

    def size(self, start_line: int, end_line: int) -> int:
        """Number of bytes of these lines together."""
        start, end = self.span(start_line, end_line)
        return end - start


def git_numbers(data: bytes) -> list[int]:
    """The number that git gives each line. It takes LF alone for a line's end."""
    lines = data.splitlines(keepends=True)
    return list(accumulate((line.endswith(b"\n") for line in lines[:-1]), initial=1)) if lines else []


def with_lf(data: bytes) -> bytes:
    """The same lines, each ended by LF: grammars read these, so that line numbers never depend on CR."""
    if b"\r" not in data:
        return data
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def text_lines(text: str) -> list[str]:
    """The lines of some text without their ends. `str.splitlines` would also split at form feeds and the like."""
    lines = _TEXT_LINE_END.split(text)
    return lines[:-1] if not lines[-1] else lines
