"""Sentences of an answer: prose and list items, without blocks of code and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PART = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_OTHER_BLOCK = re.compile(r"[ \t]*(?:#{1,6}[ \t]|[|:\-= \t]+$|<)")  # headings, rules, tags
_MARKER = re.compile(r"[ \t>]*(?:(?:[-*•+]|\d+[.)])[ \t]+)?")  # of a list item
_END = re.compile(r"[.!?]+[\"'”’»)\]*_`]*(?=\s)|[。！？]")
_ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|resp|incl|no|fig)|(?:^|\s)[A-Za-z])\.$", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_FEWEST_WORDS, _FEWEST_LETTERS = 4, 8  # of a sentence that states something; letters where none is a space
_STATES_NOTHING = re.compile(
    r"[:：?？]\s*$|^\W*(?:sure|certainly|hello|hi|let me know|i hope|please|here (?:is|are))\b"
    r"|\b(?:not|nothing|no|n't)\b.{0,60}\b(?:(?:shown|provided|given|this|the|any) (?:code|context|snippets?"
    r"|information|repository|workspace)|seems? to answer|answers? (?:this|the question)|information (?:about|on))\b"
    r"|\b(?:cannot|can't|can not|unable to|could not|impossible to) (?:be )?(?:answer|determine|tell|say)",
    re.IGNORECASE,
)


def states_something(sentence: str) -> bool:
    """True for a sentence that states a fact; false for greetings, questions, announcements and refusals."""
    enough = len(_WORD.findall(sentence)) >= _FEWEST_WORDS or (
        not sentence.isascii() and len(sentence) >= _FEWEST_LETTERS
    )
    return enough and _STATES_NOTHING.search(sentence.replace("\n", " ")) is None


@dataclass(slots=True)
class SentenceSplitter:
    """Finds the sentences of a text that grows, each once, as (start, end) in characters of the whole text.

    A line ends a sentence. Punctuation ends one once white space follows, so that `a.b` stays whole.
    """

    _line: str = ""
    _start: int = 0  # of the line
    _done: int = 0  # characters of the line whose sentences were found
    _in_code: bool = False

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
        fence = _FENCE.match(line)
        if not (fence or self._in_code or _OTHER_BLOCK.match(line)):
            for start, end in _sentences(line, self._done, line_ended):
                self._done = end
                yield begin + start, begin + end
        if line_ended:
            self._in_code ^= fence is not None
            self._line, self._start, self._done = "", begin + len(line), 0


def sentences_of(text: str) -> list[tuple[int, int]]:
    """The sentences of a whole text."""
    splitter = SentenceSplitter()
    return [*splitter.feed(text), *splitter.end()]


def _sentences(line: str, start: int, line_ended: bool) -> Iterator[tuple[int, int]]:
    """The sentences of a line from `start` on, the last one only if the line has ended."""
    start = start or _MARKER.match(line).end()  # type: ignore[union-attr]  # it matches anything
    ends = [match.end() for match in _END.finditer(line, start) if _is_end(line, match)]
    for end in [*ends, *([len(line.rstrip())] if line_ended else [])]:
        start += len(line[start:end]) - len(line[start:end].lstrip())
        if start < end:
            yield start, end
        start = max(start, end)


def _is_end(line: str, match: re.Match[str]) -> bool:
    within_code = line.count("`", 0, match.start()) % 2 and "`" not in match[0]
    return not within_code and not _ABBREVIATED.search(line, 0, match.end())
