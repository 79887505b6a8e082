"""Guesses that the answer goes on as the prompt, or the answer itself, went on behind the same words before.

Answers quote the code they are about. The longest suffix of prompt and answer that stands in them already is looked
for at all places at once, and remembered for the next token: a few operations on arrays of bytes, 0.03 ms over 2,000
tokens.

One token of the suffix may be another: a method that is quoted without its indentation differs at each line's end,
and is the same again behind it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Prompt
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.tree import NOTHING, DraftTree, grow
from winnow_engine.targets.drafts.base import NamedMethod

_SHORTEST, _LONGEST = 2, 16  # tokens of a match; longer ones are as good as these
_GAP = 4  # tokens by which a match must be longer to make up for one in it that is another
_MOST_PLACES = 16
_MEMORY = 64  # tries after which older ones count less


@dataclass(frozen=True, slots=True)
class Match:
    """The places behind the longest repeated suffix, the latest first, and its length in tokens.

    A `gapped` one has one other token in it, which does not count.
    """

    places: list[int]
    length: int
    gapped: bool


class Rates:
    """How often the text went on as at one of the places before, by the length of the match and whether it was gapped.

    Every token of an answer teaches, drafted or not. Before there are any, a match of n tokens is trusted n / (n + 2).
    """

    def __init__(self) -> None:
        lengths = range(_LONGEST + 1)
        self._tries = [[4.0 for _ in lengths] for _ in range(2)]
        self._hits = [[4.0 * length / (length + 2) for length in lengths] for _ in range(2)]

    def of(self, length: int, gapped: bool) -> float:
        """The rate, in (0, 1), of matches of this length or, beyond the longest, of those."""
        length = min(length, _LONGEST)
        return self._hits[gapped][length] / self._tries[gapped][length]

    def learn(self, match: Match, hit: bool) -> None:
        """A match like this one was right, or was not."""
        hits, tries = self._hits[match.gapped], self._tries[match.gapped]
        if tries[match.length] >= _MEMORY:
            hits[match.length] *= 1 - 1 / _MEMORY
            tries[match.length] *= 1 - 1 / _MEMORY
        hits[match.length] += hit
        tries[match.length] += 1


class LookupDraft:
    """Drafts from prompt and answer; several continuations make a tree, each weighed by how many places have it."""

    def __init__(self) -> None:
        self._rates = Rates()
        self._read(np.empty(0, np.int32))

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Look up in `prompt`, and in the answer as it grows."""
        self._read(prompt.astype(np.int32))

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        """How the text went on at the places like this one."""
        if self._match is None:
            return NOTHING
        return grow(self._match, self._continuations, limit, least)

    def accept(self, tokens: Sequence[int]) -> None:
        """Learn whether the places knew, and look up in these tokens too."""
        for token in tokens:
            if self._match is not None:
                hit = any(self._text[place] == token for place in self._match.places)
                self._rates.learn(self._match, hit)
            self._append(token)

    def close(self) -> None:
        """Nothing to free."""

    def _read(self, text: NDArray[np.int32]) -> None:
        self._text = array("i", text.tobytes())
        self._exact, self._gapped = _agreement(text)
        self._match = _longest(self._exact, self._gapped)

    def _append(self, token: int) -> None:
        same = np.frombuffer(self._text, np.int32) == token
        self._exact, self._gapped = _one_longer(self._exact, self._gapped, same)
        self._match = _longest(self._exact, self._gapped)
        self._text.append(token)

    def _continuations(self, match: Match) -> Iterator[tuple[int, float, Match]]:
        following: dict[int, list[int]] = {}
        for place in match.places:
            if place < len(self._text):
                following.setdefault(self._text[place], []).append(place + 1)
        rate, known = self._rates.of(match.length, match.gapped), sum(map(len, following.values()))
        for token, places in sorted(following.items(), key=lambda item: len(item[1]), reverse=True):
            yield token, rate * len(places) / known, Match(places, match.length + 1, match.gapped)


def _longest(exact: NDArray[np.uint8], gapped: NDArray[np.uint8]) -> Match | None:
    """The longest suffix that stands elsewhere too; None if that is shorter than the shortest that counts.

    A gapped one counts only if it is longer than any other by some tokens.
    """
    longest, length = int(exact.max(initial=0)), int(gapped.max(initial=0))
    if length >= longest + _GAP:
        return Match(_latest(gapped == length), length, gapped=True)
    return Match(_latest(exact == longest), longest, gapped=False) if longest >= _SHORTEST else None


def _latest(ends: NDArray[np.bool_]) -> list[int]:
    """The places behind the last few of `ends`, the latest first."""
    places: list[int] = (np.flatnonzero(ends)[: -_MOST_PLACES - 1 : -1] + 1).tolist()
    return places


def _agreement(text: NDArray[np.int32]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """For how many tokens `text` reads up to each position before the last as it does up to its end.

    First up to the first other token, then up to the second, which counts the same ones and those between the two.
    Shapes (tokens - 1,); no more tokens count than the longest match has.
    """
    first = max(0, len(text) - _LONGEST)
    exact = gapped = np.zeros(max(0, first - 1), np.uint8)
    for last in range(first, len(text)):
        exact, gapped = _one_longer(exact, gapped, text[:last] == text[last])
    return exact, gapped


def _one_longer(
    exact: NDArray[np.uint8], gapped: NDArray[np.uint8], same: NDArray[np.bool_]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """A text's agreement when it is one token longer, from what it was and where that token stands in it.

    What agrees up to a position is what agreed up to the one before it, and that position's own token. If that is
    another one, it is the gap, and what agreed exactly stands behind it. (By arithmetic: `where` is slow on bytes.)
    """
    before = np.zeros((2, len(same)), np.uint8)
    np.minimum(exact, _LONGEST - 1, out=before[0, 1:])
    np.minimum(gapped, _LONGEST - 2, out=before[1, 1:])  # the gap too takes a place
    longer = (before + np.uint8(1)) * same.view(np.uint8)
    return longer[0], np.maximum(np.maximum(longer[0], longer[1]), before[0])


METHOD = NamedMethod("lookup", LookupDraft)
