"""Guesses that the answer goes on as the prompt, or the answer itself, went on behind the same words before.

Answers quote the code they are about. The longest suffix of prompt and answer that stands in them already is looked
for by comparing whole arrays: 0.5 ms over 32,000 tokens, where evaluating one token takes 30 ms and more.

One token of the suffix may be another: a method that is quoted without its indentation differs at each line's end,
and is the same again behind it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow_engine.target.abort import AbortFlag
from winnow_engine.target.base import Prompt
from winnow_engine.target.tree import NOTHING, Tree, grow

_SHORTEST, _LONGEST = 2, 16  # tokens of a match; longer ones are as good as these
_GAP = 4  # tokens by which a match must be longer to make up for one in it that is another
_MOST_PLACES = 16
_MEMORY = 64  # tries after which older ones count less


@dataclass(frozen=True, slots=True)
class Match:
    """The places behind the longest repeated suffix, the latest first, shape (places,), and its length in tokens.

    A `gapped` one has one other token in it, which does not count.
    """

    places: NDArray[np.int64]
    length: int
    gapped: bool


class Rates:
    """How often the text went on as at one of the places before, by the length of the match and whether it was gapped.

    Every token of an answer teaches, drafted or not. Before there are any, a match of n tokens is trusted n / (n + 2).
    """

    def __init__(self) -> None:
        lengths = np.arange(_LONGEST + 1)
        self._tries = np.full((2, _LONGEST + 1), 4.0)
        self._hits = self._tries * lengths / (lengths + 2)

    def of(self, length: int, gapped: bool) -> float:
        """The rate, in (0, 1), of matches of this length or, beyond the longest, of those."""
        kind = int(gapped), min(length, _LONGEST)
        return float(self._hits[kind] / self._tries[kind])

    def learn(self, match: Match, hit: bool) -> None:
        """A match like this one was right, or was not."""
        kind = int(match.gapped), match.length
        if self._tries[kind] >= _MEMORY:
            self._hits[kind] *= 1 - 1 / _MEMORY
            self._tries[kind] *= 1 - 1 / _MEMORY
        self._hits[kind] += hit
        self._tries[kind] += 1


class LookupDraft:
    """Drafts from prompt and answer; several continuations make a tree, each weighed by how many places have it."""

    def __init__(self) -> None:
        self._tokens = np.empty(0, np.int32)
        self._length = 0
        self._rates = Rates()

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Look up in `prompt`, and in the answer as it grows."""
        self._tokens, self._length = prompt.astype(np.int32), len(prompt)

    def propose(self, limit: int, least: float = 0.0) -> Tree:
        """How the text went on at the places like this one."""
        match = self._match()
        if match is None:
            return NOTHING
        return grow(match, self._continuations, limit, least)

    def accept(self, tokens: Sequence[int]) -> None:
        """Learn whether the places knew, and look up in these tokens too."""
        for token in tokens:
            match = self._match()
            if match is not None:
                self._rates.learn(match, bool((self._tokens[match.places] == token).any()))
            self._append(token)

    def close(self) -> None:
        """Nothing to free."""

    def _continuations(self, match: Match) -> Iterator[tuple[int, float, Match]]:
        places = match.places[match.places < self._length]
        following = self._tokens[places]
        rate = self._rates.of(match.length, match.gapped)
        for token, times in Counter(following.tolist()).most_common():
            behind = Match(places[following == token] + 1, match.length + 1, match.gapped)
            yield token, rate * times / len(places), behind

    def _match(self) -> Match | None:
        """The longest suffix that stands elsewhere too; None if that is shorter than the shortest that counts.

        A gapped one counts only if it is longer than any other by some tokens.
        """
        ends, exact, gapped = _agreement(self._tokens[: self._length])
        longest, length = int(exact.max(initial=0)), int(gapped.max(initial=0))
        if length >= longest + _GAP:
            return Match(_latest(ends[gapped == length]), length, gapped=True)
        return Match(_latest(ends[exact == longest]), longest, gapped=False) if longest >= _SHORTEST else None

    def _append(self, token: int) -> None:
        if self._length == len(self._tokens):
            self._tokens = np.concatenate([self._tokens, np.empty(self._length + 64, np.int32)])
        self._tokens[self._length] = token
        self._length += 1


def _latest(ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places behind the last few of `ends`, the latest first."""
    return ends[::-1][:_MOST_PLACES] + 1


def _agreement(text: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Positions up to which `text` reads as it does up to its end, in order, and for how many tokens.

    First up to the first other token, then up to the second, which counts the same ones and those between the two.
    Shapes (ends,); no more tokens count than the longest match has.
    """
    last = len(text) - 1
    like = text[:-1] == text[-1]
    like[1:] |= text[: last - 1] == text[last - 1]
    ends = np.flatnonzero(like)
    exact, gapped, others = np.zeros((3, len(ends)), np.int64)
    compared = np.arange(len(ends))
    for back in range(min(_LONGEST, last)):
        compared = compared[(others[compared] < 2) & (ends[compared] >= back)]
        same = text[ends[compared] - back] == text[last - back]
        exact[compared] += same & (others[compared] == 0)
        gapped[compared] += same
        others[compared] += ~same
    return ends, exact, gapped
