"""Guesses that the answer goes on as prompt or answer went on earlier, behind the same tokens.

Answers quote the code they are about. For each new token, the longest suffix of prompt and answer that also stands at
an earlier place is found, at all places at once and from what was found for the token before: a few operations on
arrays of bytes, 0.03 ms over 2,000 tokens.

One token of the suffix may differ: a method that is quoted without its indentation differs at the end of each line,
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

_SHORTEST, _LONGEST = 2, 16  # tokens of a match; longer ones count as the longest
_GAP = 4  # tokens by which a match with a differing token must be longer than one without
_MOST_PLACES = 16
_MEMORY = 64  # tries, after which older ones count less


@dataclass(frozen=True, slots=True)
class Match:
    """The places behind the longest repeated suffix, the latest first, and the length of that suffix in tokens.

    In a `gapped` match one token differs, which the length does not count.
    """

    places: list[int]
    length: int
    gapped: bool


class Rates:
    """How often a match was right, by its length and whether it was gapped.

    A match is right if the text went on as at one of its places. Every token of an answer teaches, drafted or not.
    Before there are any, the rate of a match of n tokens is n / (n + 2).
    """

    def __init__(self) -> None:
        lengths = range(_LONGEST + 1)
        self._tries = [[4.0 for _ in lengths] for _ in range(2)]
        self._hits = [[4.0 * length / (length + 2) for length in lengths] for _ in range(2)]

    def of(self, length: int, gapped: bool) -> float:
        """The rate, in (0, 1), of matches of this length. Matches beyond the longest share its rate."""
        length = min(length, _LONGEST)
        return self._hits[gapped][length] / self._tries[gapped][length]

    def learn(self, match: Match, hit: bool) -> None:
        """Learn whether a match was right."""
        hits, tries = self._hits[match.gapped], self._tries[match.gapped]
        if tries[match.length] >= _MEMORY:
            hits[match.length] *= 1 - 1 / _MEMORY
            tries[match.length] *= 1 - 1 / _MEMORY
        hits[match.length] += hit
        tries[match.length] += 1


class LookupDraft:
    """Drafts from prompt and answer.

    Different continuations become branches, each weighted by the number of places that have it.
    """

    def __init__(self) -> None:
        self._rates = Rates()
        self._read(np.empty(0, np.int32))

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Look up in `prompt`, and later in the answer too."""
        self._read(prompt.astype(np.int32))

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        """How the text went on at the places of the current match."""
        if self._match is None:
            return NOTHING
        return grow(self._match, self._continuations, limit, least)

    def accept(self, tokens: Sequence[int]) -> None:
        """Learn whether the match was right, and look up in these tokens too."""
        for token in tokens:
            if self._match is not None:
                hit = any(self._text[place] == token for place in self._match.places)
                self._rates.learn(self._match, hit)
            self._append(token)

    def close(self) -> None:
        """Do nothing."""

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
    """The match of the longest suffix that stands elsewhere too, or None if that is shorter than `_SHORTEST`.

    A gapped match counts only if it is longer than any other by `_GAP` tokens.
    """
    longest, length = int(exact.max(initial=0)), int(gapped.max(initial=0))
    if length >= longest + _GAP:
        return Match(_latest(gapped == length), length, gapped=True)
    return Match(_latest(exact == longest), longest, gapped=False) if longest >= _SHORTEST else None


def _latest(ends: NDArray[np.bool_]) -> list[int]:
    """The places behind the last `_MOST_PLACES` of `ends`, the latest first."""
    places: list[int] = (np.flatnonzero(ends)[: -_MOST_PLACES - 1 : -1] + 1).tolist()
    return places


def _agreement(text: NDArray[np.int32]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """For each position but the last, how many tokens up to it equal those up to the end of `text`.

    Counted backwards twice: up to the first token that differs, and up to the second one, where the first does not
    count. Both of shape (tokens - 1,), and at most `_LONGEST`.
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
