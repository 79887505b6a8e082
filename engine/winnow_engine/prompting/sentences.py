"""Sentences of an answer: prose and list items, without blocks of code and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from winnow_engine.prompting.markdown import MARKER, fence_after

_PART = re.compile(r"[^\n]*\n|[^\n]+")
_OTHER_BLOCK = re.compile(r"[ \t]*+(?:#{1,6}[ \t]|[|:\-= \t]+$|<)")  # headings, rules, tags
_END = re.compile(r"(?<![.!?(\[{])[.!?؟۔।]++[\"'”’»)\]*_]*+(?=\s)|(?<![。！？])[。！？]++[”’」』）】》)]*+(?=.|\n)")
_ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|incl|no|fig)|(?:^|\s)[A-Za-z])\.$", re.IGNORECASE)
_LONGEST_ABBREVIATION = 8  # characters, with what stands before it
_WORD, _SPACE = re.compile(r"\w+"), re.compile(r"\s*")
_LONGEST = 2000  # characters; what has no end within them is cut there
_FEWEST_WORDS, _FEWEST_LETTERS = 4, 8  # of a sentence that states something; letters where none is a space
_STATES_NOTHING = re.compile(
    r"(?i)[:：?？؟]\s*$|^\W*(?:sure|certainly|hello|hi|let me know|i hope|please|here (?:is|are))\b"
    r"|\b(?:not|nothing|no|n't)\b.{0,60}\b(?:(?:shown|provided|given|this|the|any) (?:code|context|snippets?"
    r"|information|repository|workspace)|seems? to answer|answers? (?:this|the question)|information (?:about|on))\b"
    r"|\b(?:cannot|can't|can not|unable to|could not|impossible to) (?:be )?(?:answer|determine|tell|say)"
)


def states_something(sentence: str) -> bool:
    """True for a sentence that states a fact; false for greetings, questions, refusals and endless text."""
    words = len(_WORD.findall(sentence))
    enough = words >= _FEWEST_WORDS or (not sentence.isascii() and len(sentence) >= _FEWEST_LETTERS)
    return enough and len(sentence) < _LONGEST and _STATES_NOTHING.search(sentence.replace("\n", " ")) is None


@dataclass(slots=True)
class SentenceSplitter:
    """Finds the sentences of a text that grows, each once, as (start, end) in characters of the whole text.

    A line ends a sentence. Punctuation ends one once white space follows, so that `a.b` stays whole.
    """

    _line: str = ""
    _start: int = 0  # of the line
    _done: int = 0  # characters of the line whose sentences were found
    _fence: str = ""  # that opened the block of code

    def feed(self, piece: str) -> Iterator[tuple[int, int]]:
        """Take in more text. Yields the sentences that have ended."""
        for part in _PART.findall(piece):
            self._line += part
            yield from self._found(part.endswith("\n"))

    def end(self) -> Iterator[tuple[int, int]]:
        """The last sentence, if the text stops within it."""
        yield from self._found(line_ended=True)

    def _found(self, line_ended: bool) -> Iterator[tuple[int, int]]:
        line, begin = self._line, self._start
        fence = fence_after(line, self._fence)
        if not (self._fence or _OTHER_BLOCK.match(line)):
            for start, end in _sentences(line.partition(fence)[0] if fence else line, self._done, line_ended):
                self._done = end
                yield begin + start, begin + end
        if line_ended:
            self._fence, self._line, self._start, self._done = fence, "", begin + len(line), 0


def _sentences(line: str, start: int, line_ended: bool) -> Iterator[tuple[int, int]]:
    """The sentences of a line from `start` on, the last one only if the line has ended."""
    start = _SPACE.match(line, start or MARKER.match(line).end()).end()  # type: ignore[union-attr]  # they match anything
    while start < (end := _end(line, start, line_ended) or 0):
        yield start, end
        start = _SPACE.match(line, end).end()  # type: ignore[union-attr]


def _end(line: str, start: int, line_ended: bool) -> int | None:
    """The end of the sentence that begins at `start`, in a table within its cell; None if that is still to come."""
    latest = start + _LONGEST
    ends = (match.end() for match in _END.finditer(line, start, latest) if _is_end(line, start, match))
    cut = latest if latest < len(line) else len(line.rstrip().rstrip("| \t")) if line_ended else None
    return next(ends, cut)


def _is_end(line: str, start: int, match: re.Match[str]) -> bool:
    within_code = line.count("`", start, match.start()) % 2
    begin = max(start, match.end() - _LONGEST_ABBREVIATION)
    return not within_code and not _ABBREVIATED.search(line, begin, match.end())
