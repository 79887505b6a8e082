"""Text of a history for the target: commits, their messages and effects, at several lengths."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from winnow_engine.changes.changed import ChangedFile, Hunk
from winnow_engine.core import counted, day
from winnow_engine.history.effects import CommitEffect
from winnow_engine.question import ShownChange, ShownCommit

_SHORT_ID = 10
# How many commits, lines of a message and changed lines of a commit are shown, at each length.
_LENGTHS = ((6, 30, 40), (6, 12, 16), (4, 6, 8), (3, 2, 0))
_MOST_OTHERS = 8
_MOST_COLUMNS = 500


@dataclass(frozen=True)
class Past:
    """The commits that a question is answered from, newest first, with texts around them for the target.

    In `bidding` {id} stands for the first commit's. Show `notices` to the user.
    """

    heading: tuple[str, ...]
    commits: tuple[CommitEffect, ...]
    bidding: str
    notices: tuple[str, ...] = ()


def shown_past(past: Past, count: Callable[[str], int]) -> tuple[ShownChange, ...]:
    """The commits as text, longest first; `count` gives a text's tokens."""
    return tuple(_shown(past, *length, count) for length in _LENGTHS)


def cited_commits(past: Past) -> tuple[ShownCommit, ...]:
    """The commits that an answer may cite; one that touched no file has no place to cite."""
    return tuple(
        ShownCommit(one.commit.id, one.commit.message, one.path, one.lines[0], one.lines[-1])
        for one in past.commits
        if one.path
    )


def _shown(past: Past, commits: int, message: int, lines: int, count: Callable[[str], int]) -> ShownChange:
    shown = past.commits[:commits]
    text = "\n".join(_lines(past, shown, message, lines))
    return ShownChange(text, (), count(text), complete=True)


def _lines(past: Past, shown: Sequence[CommitEffect], message: int, lines: int) -> Iterator[str]:
    yield from past.heading
    for one in shown:
        yield from map(_clipped, _commit(one, message, lines))
    if len(shown) < len(past.commits):
        yield f"… {counted(len(past.commits) - len(shown), 'older commit')}"
    if shown:
        yield past.bidding.format(id=shown[0].commit.id[:_SHORT_ID])


def _commit(one: CommitEffect, message: int, lines: int) -> Iterator[str]:
    commit = one.commit
    yield f"\ncommit {commit.id[:_SHORT_ID]} ({day(commit.authored_at)}, {commit.author}): {commit.subject}"
    body = commit.message.strip().splitlines()[1:]
    yield from (f"  {line}" for line in [line for line in body if line.strip()][: message - 1])
    if lines and one.file is not None:
        units = f", {', '.join(one.units)}" if one.units else ""
        yield f"in {one.path}{f' (from {one.file.before_path})' if one.file.renamed else ''}{units}:"
        yield from _difference(one.file, one.hunks, lines)
    if one.others:
        more = f" and {len(one.others) - _MOST_OTHERS} more" if len(one.others) > _MOST_OTHERS else ""
        yield f"also in {', '.join(one.others[:_MOST_OTHERS])}{more}"


def _clipped(line: str) -> str:
    """The beginning of a line that somebody pasted or a program wrote: it alone could fill the prompt."""
    return line if len(line) <= _MOST_COLUMNS else f"{line[:_MOST_COLUMNS]} …"


def _difference(file: ChangedFile, hunks: Sequence[Hunk], most: int) -> Iterator[str]:
    rows = list[str]()
    for hunk in hunks:
        rows += [f"-{_text(file.before_lines[line - 1])}" for line in hunk.before]
        rows += [f"+{_text(file.after_lines[line - 1])}" for line in hunk.after]
    yield from rows[:most]
    if len(rows) > most:
        yield f"… {counted(len(rows) - most, 'more line')}"


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace")
