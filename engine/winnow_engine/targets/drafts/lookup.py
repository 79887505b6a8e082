"""Guesses that the answer goes on as prompt or answer went on earlier, behind the same tokens.

Answers quote the code they are about. For each new token, the longest suffix of prompt and answer that also stands at
an earlier place is found, at all places at once and from what was found for the token before: 5 µs behind 3,000.

One token of the suffix may differ: a method that is quoted without its indentation differs at the end of each line,
and is the same again behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Prompt
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.draft_tree import NOTHING, DraftTree, grow
from winnow_engine.targets.drafts.base import Draft

_SHORTEST, _LONGEST = 2, 16  # tokens of a match; longer ones count as the longest
_GAP = 4  # tokens by which a match with a differing token must be longer than one without
_MOST_PLACES = 16
_ROOM = 1024  # tokens, at first
_MEMORY = 64  # tries, after which older ones count less


@dataclass(frozen=True, slots=True)
class Match:
    """Places behind the longest repeated suffix, the latest first; in a `gapped` match one token differs."""

    places: list[int]
    length: int
    gapped: bool


class Rates:
    """How often matches of a length, gapped or not, were right: n / (n + 2) before any token taught."""

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


class LookupDraft(Draft):
    """Drafts from prompt and answer. Continuations are branches, weighted by their number of places."""

    def __init__(self) -> None:
        from winnow_cuda.ops.drafting import repeated_suffix  # here, since Numba comes with it

        self._append_to = repeated_suffix
        self._rates = Rates()
        self._places = np.empty(_MOST_PLACES, np.int32)
        self._counts = np.empty((2, 0), np.uint8)
        self._read(np.zeros(1, np.int32))  # compiled here, or read from Numba's cache, and not while an answer waits

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
                hit = any(self._tokens[place] == token for place in self._match.places)
                self._rates.learn(self._match, hit)
            self._append(token)

    def _read(self, prompt: NDArray[np.int32]) -> None:
        self._hold(np.empty(0, np.int32), len(prompt))
        self._match: Match | None = None
        known = max(0, len(prompt) - _LONGEST)  # only what the last tokens agree with counts
        self._text[:known] = prompt[:known]
        self._length = known
        for token in prompt[known:].tolist():
            self._append(token)

    def _append(self, token: int) -> None:
        if self._length == len(self._text):
            self._hold(self._text, self._length)
        found = self._append_to(self._text, self._length, token, self._counts, _LONGEST, _GAP, self._places)
        count, length, gapped = found
        self._length += 1
        self._match = Match(self._places[:count].tolist(), length, gapped) if length >= _SHORTEST else None

    def _hold(self, text: NDArray[np.int32], needed: int) -> None:
        """Have room for `text` and twice as many tokens as are `needed`."""
        before, self._text = text, np.zeros(2 * needed + _ROOM, np.int32)
        self._text[: len(before)] = before
        counts = np.zeros((2, len(self._text) + 1), np.uint8)
        if len(before):
            counts[:, : len(before) + 1] = self._counts
        self._counts, self._tokens = counts, self._text.data  # a memoryview, whose items are ints

    def _continuations(self, match: Match) -> Iterator[tuple[int, float, Match]]:
        following: dict[int, list[int]] = {}
        for place in match.places:
            if place < self._length:
                following.setdefault(self._tokens[place], []).append(place + 1)
        rate, known = self._rates.of(match.length, match.gapped), sum(map(len, following.values()))
        for token, places in sorted(following.items(), key=lambda item: len(item[1]), reverse=True):
            yield token, rate * len(places) / known, Match(places, match.length + 1, match.gapped)
