"""Changed files, and their differing lines. Line ends do not count: LF that became CRLF is no change."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property

from winnow_engine.git.trees import FileChange
from winnow_engine.index.file_text import file_text
from winnow_engine.index.lines import with_lf

NOTHING = "nothing changed in the files that Winnow reads"
_FEW_PAIRS = 1_000_000  # of lines to compare, up to which SequenceMatcher takes 0.1 s
_MOST_PAIRS = 4_000_000  # between lines that stay; beyond it, all lines there are changed


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines, 1-based, that other lines took the place of. One of the ranges may be empty: it tells where."""

    before: range
    after: range


def line_texts(data: bytes | None) -> list[bytes]:
    """The lines of a file without their ends; none if there is no file."""
    if not data:
        return []
    lines = with_lf(data).split(b"\n")
    return lines[:-1] if not lines[-1] else lines


def hunks(before: Sequence[bytes], after: Sequence[bytes]) -> tuple[Hunk, ...]:
    """The differences between two texts, given as lines, in order."""
    return tuple(
        Hunk(range(b, b_end), range(a, a_end)) for same, b, b_end, a, a_end in _runs(before, after) if not same
    )


def unchanged(before: Sequence[bytes], after: Sequence[bytes]) -> dict[int, int]:
    """The lines, 1-based, that both texts have, each with its number in the second."""
    same = (run for run in _runs(before, after) if run[0])
    return {line: a + line - b for _, b, b_end, a, _ in same for line in range(b, b_end)}


def similarity(before: bytes, after: bytes) -> float:
    """The share of lines that two files have in common, wherever they stand; from 0 to 1."""
    ours, theirs = Counter(line_texts(before)), Counter(line_texts(after))
    return (ours & theirs).total() / max(ours.total(), theirs.total(), 1)


def _runs(before: Sequence[bytes], after: Sequence[bytes]) -> Iterator[tuple[bool, int, int, int, int]]:
    """(same, first line, line after the last, the same two of the second text): runs that cover both texts."""
    head = _common(before, after)
    tail = _common(before[head:][::-1], after[head:][::-1])
    if head:
        yield True, 1, head + 1, 1, head + 1
    ours, theirs = before[head : len(before) - tail], after[head : len(after) - tail]
    for same, b, b_end, a, a_end in _between(ours, theirs):
        yield same, b + head + 1, b_end + head + 1, a + head + 1, a_end + head + 1
    if tail:
        yield True, len(before) - tail + 1, len(before) + 1, len(after) - tail + 1, len(after) + 1


def _between(
    before: Sequence[bytes], after: Sequence[bytes], rounds: int = 3
) -> Iterator[tuple[bool, int, int, int, int]]:
    pairs = _pairs(before, after) if rounds and len(before) * len(after) > _FEW_PAIRS else ()
    b = a = 0
    for b_next, a_next in (*pairs, (len(before), len(after))):
        ours, theirs = before[b:b_next], after[a:a_next]
        for same, *ends in _between(ours, theirs, rounds - 1) if pairs else _compared(ours, theirs):
            yield same, b + ends[0], b + ends[1], a + ends[2], a + ends[3]
        b, a = b_next + 1, a_next + 1
        if b <= len(before):
            yield True, b_next, b, a_next, a


def _compared(before: Sequence[bytes], after: Sequence[bytes]) -> Iterator[tuple[bool, int, int, int, int]]:
    if not before and not after:
        return
    if not before or not after or len(before) * len(after) > _MOST_PAIRS:
        yield False, 0, len(before), 0, len(after)
        return
    for tag, b, b_end, a, a_end in SequenceMatcher(None, before, after).get_opcodes():
        yield tag == "equal", b, b_end, a, a_end


def _pairs(before: Sequence[bytes], after: Sequence[bytes]) -> list[tuple[int, int]]:
    """Numbers of equal lines in both texts, 0-based: the most pairs in which both numbers increase.

    Only lines that occur once in each text are paired or, if they are few, the nth of those that occur equally often.
    """
    ours, theirs = _numbers(before), _numbers(after)
    same = [numbers for line, numbers in ours.items() if len(numbers) == len(theirs.get(line, ()))]
    once = [numbers for numbers in same if len(numbers) == 1]
    same = once if 20 * len(once) > min(len(before), len(after)) else same
    pairs = sorted(pair for numbers in same for pair in zip(numbers, theirs[before[numbers[0]]], strict=True))
    lasts, tops, below = list[int](), list[int](), list[int]()  # the smallest last line of a run by length, its pair
    for n, (_, line) in enumerate(pairs):
        length = bisect_left(lasts, line)
        lasts[length : length + 1], tops[length : length + 1] = [line], [n]
        below.append(tops[length - 1] if length else -1)
    found, n = list[tuple[int, int]](), tops[-1] if tops else -1
    while n >= 0:
        found.append(pairs[n])
        n = below[n]
    return found[::-1]


def _numbers(lines: Sequence[bytes]) -> dict[bytes, list[int]]:
    found: dict[bytes, list[int]] = {}
    for number, line in enumerate(lines):
        found.setdefault(line, []).append(number)
    return found


def _common(before: Sequence[bytes], after: Sequence[bytes]) -> int:
    """Number of lines that both begin with."""
    shorter = min(len(before), len(after))
    return next((n for n in range(shorter) if before[n] != after[n]), shorter)


@dataclass(frozen=True)
class ChangedFile:
    """A file that differs, with workspace paths. Contents are None where there is no file, or if `unread` says why.

    `commit` is the object id of the commit, or of the empty tree, that the lines before are in.
    """

    path: str
    before_path: str | None
    before: bytes | None
    after: bytes | None
    removed: bool = False
    unread: str = ""
    commit: str = ""

    @classmethod
    def of(
        cls, change: FileChange, contents: Mapping[str, bytes], path_of: Callable[[str], str] = str, unread: str = ""
    ) -> ChangedFile:
        """The file of a difference between trees. `contents` are by blob, `path_of` gives workspace paths."""
        before = _text(change.before or change.path, contents.get(change.before_blob or ""))
        after = _text(change.path, contents.get(change.after_blob or ""))
        before_path = None if change.before is None else path_of(change.before)
        return cls(path_of(change.path), before_path, before, after, change.after is None, unread)

    @property
    def added(self) -> bool:
        """True for a new file."""
        return self.before_path is None

    @property
    def renamed(self) -> bool:
        """True if it had another path."""
        return self.before_path not in (None, self.path)

    @property
    def what(self) -> str:
        """The kind of change, in a few words."""
        if self.added or self.removed:
            return "new file" if self.added else "file removed"
        return f"renamed from {self.before_path}" if self.renamed else "changed"

    @cached_property
    def before_lines(self) -> list[bytes]:
        """The lines before, without their ends."""
        return line_texts(self.before)

    @cached_property
    def after_lines(self) -> list[bytes]:
        """The lines after, without their ends."""
        return line_texts(self.after)

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        """The lines that differ."""
        return hunks(self.before_lines, self.after_lines)


def _text(path: str, data: bytes | None) -> bytes | None:
    return None if data is None else file_text(path, data)[0]


@dataclass(frozen=True)
class Changes:
    """The files that differ between two states, which `title` names, in path order."""

    title: str
    files: tuple[ChangedFile, ...]
