"""Quotations in an answer: lines of code in its blocks, and commits by id or message."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from winnow_engine.core import Citation, Span
from winnow_engine.index.lines import text_lines
from winnow_engine.prompting.markdown import fence_after
from winnow_engine.question import Change

_NUMBER = re.compile(r"^\s*\d+ ")  # of a line, copied from the prompt; conversations begun earlier indent it
_COMMIT = re.compile(r"\b[0-9a-f]{7,64}\b")
_WORD = re.compile(r"\w+")
_REPEATED_WORDS = 5  # of a commit's message, from which on an answer quotes it
_MARK = re.compile(r"^\s*[-+]")  # of a difference
_SHORTEST_QUOTE = 12  # characters; shorter lines, such as `return self`, occur in too many places

_Places = Mapping[str, Mapping[Citation, None]]


def quotes_in(answer: str, shown: Sequence[tuple[Span, str]], change: Change | None = None) -> Iterator[Citation]:
    """Runs of lines in blocks of code that occur in a span's text or were removed; indentation is ignored.

    Where a line stands in several places, the one counts from which on most of the following lines are quoted, too.
    """
    places = _by_line(change.removed if change else ()) | _by_line(_lines(shown))
    quoted, fence, at = list[Mapping[Citation, None]](), "", 0
    for line in text_lines(answer):
        before, fence = fence, fence_after(line, fence)
        quoted.append(_places_of(line, places) if before and fence else {})
    while at < len(quoted):
        run = max((_run(quoted, at, place) for place in quoted[at]), key=_length, default=None)
        if run is not None:
            yield run
        at += 1 if run is None else _length(run)


def without_covered(found: Sequence[Citation]) -> Iterator[Citation]:
    """The citations that no earlier one covers."""
    for number, citation in enumerate(found):
        if not any(_covers(earlier, citation) for earlier in found[:number]):
            yield citation


def _covers(outer: Citation, inner: Citation) -> bool:
    same = (outer.path, outer.commit) == (inner.path, inner.commit)
    return same and outer.start_line <= inner.start_line and inner.end_line <= outer.end_line


def commits_in(text: str, change: Change | None) -> Iterator[Citation]:
    """The commits of a history that a text names by their ids, or whose messages it repeats."""
    if change is None:
        return
    named, said = _COMMIT.findall(text), runs_of_words(text)
    for commit in change.commits:
        if any(commit.id.startswith(one) for one in named) or said & runs_of_words(commit.message):
            yield Citation(commit.path, commit.start_line, commit.end_line, commit.id)


def runs_of_words(text: str) -> set[tuple[str, ...]]:
    """Every few neighbouring words, folded."""
    words = _WORD.findall(text.lower())
    return {tuple(words[at : at + _REPEATED_WORDS]) for at in range(len(words) - _REPEATED_WORDS + 1)}


def _run(quoted: Sequence[Mapping[Citation, None]], at: int, place: Citation) -> Citation:
    """The lines from `place`, quoted at index `at`, that are quoted one after the other."""
    end = place.start_line
    for index in range(at + 1, len(quoted)):
        if Citation(place.path, end + 1, end + 1, place.commit) not in quoted[index]:
            break
        end += 1
    return Citation(place.path, place.start_line, end, place.commit)


def _length(run: Citation) -> int:
    return run.end_line - run.start_line + 1


def _places_of(line: str, places: _Places) -> Mapping[Citation, None]:
    """Places of a quoted line: as it is, without its number, or without a mark of a difference."""
    unmarked = _MARK.sub("", line)
    forms = (line, _NUMBER.sub("", line), unmarked, _NUMBER.sub("", unmarked))
    return next((places[form.strip()] for form in forms if form.strip() in places), {})


def _by_line(lines: Iterable[tuple[str, Citation]]) -> dict[str, dict[Citation, None]]:
    """The places of each line, in order, without those too short to be quoted."""
    places: dict[str, dict[Citation, None]] = {}
    for line, place in lines:
        if len(line.strip()) >= _SHORTEST_QUOTE:
            places.setdefault(line.strip(), {})[place] = None
    return places


def removed_runs(change: Change | None) -> Iterator[tuple[Citation, str]]:
    """Removed lines between blank or unchanged ones, with their text."""
    lines = enumerate(one for one in (change.removed if change else ()) if one[0].strip())
    for _, run in groupby(lines, lambda one: (one[1][1].path, one[1][1].start_line - one[0])):
        texts, places = zip(*(line for _, line in run), strict=True)
        yield replace(places[0], end_line=places[-1].end_line), "\n".join(texts)


def _lines(shown: Sequence[tuple[Span, str]]) -> Iterator[tuple[str, Citation]]:
    for span, text in shown:
        for number, line in enumerate(text_lines(text), span.start_line):
            yield line, Citation(span.path, number, number)
