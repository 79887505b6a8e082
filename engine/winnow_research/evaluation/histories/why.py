"""Lines that have been moved, renamed or re-indented → the commit that made them what they are.

The rule looks forward, from a commit to the lines of today, and compares text. So it finds its golds in another way
than `winnow why`, which looks back and asks git.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from winnow_engine.changes.reading import why_no_code
from winnow_engine.changes.units import ChangedUnit
from winnow_engine.git.objects import blobs, commits
from winnow_engine.git.repository import Repository
from winnow_engine.git.trees import REGULAR, Entry, tree_changes, tree_files
from winnow_engine.index.languages import for_path
from winnow_research.evaluation.histories.finders import Finders
from winnow_research.evaluation.histories.small_commits import (
    CODE,
    PROSE,
    SmallCommit,
    by_chance,
    small_commits,
    squeezed,
)

_LEAST_LINES, _MOST_LINES = 3, 12
_LEAST_LETTERS = 40
_LETTER = re.compile(rb"[A-Za-z0-9]")
_OF_ONE_MOVE = 2
_RENAMED_SHARE = 4  # one in so many questions may be about a file that was renamed, which plain blame sees, too
_RENAMED = "renamed"

Line = tuple[int, bytes]


@dataclass(frozen=True, slots=True)
class WhyCase:
    """Lines of a file, 1-based and inclusive, the commit that shaped them, and what has happened to them since."""

    path: str
    start_line: int
    end_line: int
    commit: str
    since: str

    @property
    def place(self) -> str:
        """The lines as a user names them."""
        return f"{self.path}:{self.start_line}-{self.end_line}"


@dataclass
class Present:
    """The code of a repository as its checked-out commit has it, by lines without white space."""

    repository: Repository

    @cached_property
    def contents(self) -> dict[str, bytes]:
        """The files of code, by path."""
        entries = [entry for entry in tree_files(self.repository, "HEAD") if _is_code(entry)]
        found = blobs(self.repository.git, [entry.blob for entry in entries])
        return {e.path: found[e.blob] for e in entries if e.blob in found and not why_no_code([found[e.blob]])}

    @cached_property
    def lines(self) -> dict[str, list[Line]]:
        """The squeezed lines of each file."""
        return {path: squeezed(data) for path, data in self.contents.items()}

    @cached_property
    def _at(self) -> dict[bytes, list[tuple[str, int]]]:
        found: dict[bytes, list[tuple[str, int]]] = defaultdict(list)
        for path, lines in self.lines.items():
            for n, (_, text) in enumerate(lines):
                found[text].append((path, n))
        return found

    def places(self, block: Sequence[bytes]) -> list[tuple[str, int, int]]:
        """Where the lines stand one after the other: path, first and last line."""
        starts = self._at.get(block[0], [])
        return [
            (path, self.lines[path][n][0], self.lines[path][n + len(block) - 1][0])
            for path, n in starts
            if [text for _, text in self.lines[path][n : n + len(block)]] == list(block)
        ]


def why_cases(repository: Repository, most: int, seed: int) -> Iterator[WhyCase]:
    """Up to `most` questions about a repository, one for a commit, two for what moved its lines at most."""
    present, finders, earlier = Present(repository), Finders(repository), _Trees(repository)
    moves: Counter[str] = Counter()
    found = 0
    for small in small_commits(repository, by_chance(finders.commits, seed)):
        case, move = next(_of_commit(small, present, finders, earlier), (None, ""))
        limit = max(most // _RENAMED_SHARE, 1) if move == _RENAMED else _OF_ONE_MOVE
        if case is not None and moves[move] < limit:
            moves[move] += 1
            found += 1
            yield case
        if found == most:
            return


def _of_commit(
    small: SmallCommit, present: Present, finders: Finders, earlier: _Trees
) -> Iterator[tuple[WhyCase, str]]:
    """Blocks of new lines of a commit that stand elsewhere today; each with the commit that moved them."""
    for unit in small.units:
        for block in _blocks(unit):
            texts = [text for _, text in block]
            places = present.places(texts)
            if len(places) == 1:
                path, start, end = places[0]
                numbers = [number for number, _ in present.lines[path] if start <= number <= end]
                since, move = _since(
                    present.repository, small, unit.file.path, path, finders.blame(path, numbers), texts
                )
                if since and not earlier.hold(small.parent, texts):
                    yield WhyCase(path, start, end, small.commit.id, since), move


def _blocks(unit: ChangedUnit) -> Iterator[list[Line]]:
    """The runs of new lines, 3 to 12 of them, with letters enough to tell them from others."""
    if unit.after is None or unit.after.kind not in CODE:
        return
    for hunk in unit.hunks:
        block = squeezed(b"\n".join(unit.after_lines[hunk.after.start - 1 : hunk.after.stop - 1]))
        letters = sum(len(_LETTER.findall(text)) for _, text in block)
        if _LEAST_LINES <= len(block) <= _MOST_LINES and letters >= _LEAST_LETTERS:
            yield block


def _since(
    repository: Repository, small: SmallCommit, then: str, now: str, blamed: Sequence[str], texts: Sequence[bytes]
) -> tuple[str, str]:
    """What has happened to lines since, and the commit that did it; "" if nothing did that is certain."""
    if small.commit.id in blamed:
        return (_RENAMED, _RENAMED) if now != then and len(blamed) == 1 else ("", "")
    return _moved(repository, blamed[0], texts), blamed[0]


def _moved(repository: Repository, move: str, texts: Sequence[bytes]) -> str:
    """What a commit did to lines that it has on both sides; "" if it has not."""
    (commit,) = commits(repository.git, [move])
    if len(commit.parents) != 1:
        return ""
    changes = [one for one in tree_changes(repository, commit.parents[0], move) if one.regular and for_path(one.path)]
    contents = blobs(repository.git, [blob for one in changes for blob in (one.before_blob, one.after_blob) if blob])
    before = [one for one in changes if _holds(contents.get(one.before_blob or ""), texts)]
    after = [one for one in changes if _holds(contents.get(one.after_blob or ""), texts)]
    if len(before) != 1 or len(after) != 1:
        return ""
    if before[0].before != after[0].after:
        return "moved to another file"
    old, new = contents[before[0].before_blob or ""], contents[after[0].after_blob or ""]
    return "re-indented" if _first(old, texts) != _first(new, texts) else "moved within its file"


def _holds(data: bytes | None, texts: Sequence[bytes]) -> bool:
    if data is None:
        return False
    lines = [text for _, text in squeezed(data)]
    return any(lines[n : n + len(texts)] == list(texts) for n, text in enumerate(lines) if text == texts[0])


def _first(data: bytes, texts: Sequence[bytes]) -> bytes:
    """The first of the lines with its indentation."""
    lines = squeezed(data)
    at = next(n for n in range(len(lines)) if [text for _, text in lines[n : n + len(texts)]] == list(texts))
    return data.split(b"\n")[lines[at][0] - 1].rstrip()


class _Trees:
    """Which lines the files of earlier commits had."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._lines: dict[str, frozenset[int]] = {}

    def hold(self, commit: str, texts: Sequence[bytes]) -> bool:
        """Whether a file of a commit had all these lines, wherever they stood."""
        entries = [entry.blob for entry in tree_files(self._repository, commit) if _is_code(entry)]
        new = [blob for blob in entries if blob not in self._lines]
        for blob, data in blobs(self._repository.git, new).items():
            self._lines[blob] = frozenset(hash(text) for _, text in squeezed(data))
        wanted = frozenset(map(hash, texts))
        return any(wanted <= self._lines.get(blob, frozenset()) for blob in entries)


def _is_code(entry: Entry) -> bool:
    language = for_path(entry.path)
    return entry.mode in REGULAR and language is not None and language.name not in PROSE
