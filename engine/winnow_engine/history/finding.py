"""The commits that answer when something changed, found by words: of messages, of paths, and of what changed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from winnow_engine.history.asked import Asked, asked_in
from winnow_engine.history.reading import History
from winnow_engine.history.terms import Int64
from winnow_engine.index.lexical import LexicalIndex
from winnow_engine.index.postings import NO_PLACE, Places

# Chosen on the calibration split of `winnow bench histories`.
_WEIGHTS = {"message": 1.0, "author": 0.2, "paths": 0.1, "names": 1.2}
_OF_KIND = 0.45  # weight of `added` or `removed` where the question asks for that
_WORD_IN_NAME = 0.17  # weight of a word that is part of a name, beside that of the name as it is written
_BY_LENGTH = {"message": 0.75, "author": 0.0}
_BY_LENGTH_OF_OTHERS = 0.3  # a commit that changed much still changed each of it
_MERGE = 0.7  # what a merge counts, as the merged commits say the same
_TOUCHES = 0.8  # of the best score by names, from which on a commit touched what is asked about

_Scores = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class FoundCommit:
    """A commit that may answer: its score is a sum of BM25 over fields, 0 if no word fits.

    `number` is higher than those of the commits in its past, which may have been made in the same second.
    """

    id: str
    score: float
    committed_at: int
    number: int = field(compare=False)

    @property
    def age(self) -> tuple[int, int]:
        """What sorts the newest first."""
        return -self.committed_at, -self.number


def rank_commits(history: History, question: str, most: int) -> list[FoundCommit]:
    """The commits that answer a question best, best first; of equal ones the newest first.

    Where the question asks for the last time, those that touched what it names come first, the newest first.
    """
    asked = asked_in(question)
    scores = _scores(history, asked)
    if asked.latest and asked.names:
        scores = _latest_first(scores, _index(history, "names").score_terms(dict.fromkeys(asked.names, 1.0)))
    rows = np.flatnonzero(history.alive)[scores > 0]
    return _best(history, rows, scores[scores > 0], most)


def newest_commits(history: History, most: int) -> list[FoundCommit]:
    """The newest commits, whatever they are about."""
    rows = np.flatnonzero(history.alive)
    return _best(history, rows, np.zeros(len(rows), np.float32), most)


def _best(history: History, rows: Int64, scores: _Scores, most: int) -> list[FoundCommit]:
    """The commits with the best scores; of equal ones the newest first."""
    times = np.concatenate([table.arrays["times"] for table in history.tables])[rows]
    order = np.lexsort((-rows, -times, -scores))[:most]
    found = zip(rows[order].tolist(), scores[order].tolist(), times[order].tolist(), strict=True)
    return [FoundCommit(history.id_of(row), score, time, row) for row, score, time in found]


def _scores(history: History, asked: Asked) -> _Scores:
    """The score of each commit of the past, float32."""
    in_code = {term: weight for term, weight in asked.terms.items() if not term.isdecimal()}
    of_names = {term: weight * _WORD_IN_NAME for term, weight in in_code.items()} | dict(asked.names)
    terms = {"message": asked.terms, "author": asked.terms, "paths": in_code, "names": of_names}
    found = np.zeros(int(history.alive.sum()), np.float32)
    for name, weight in _WEIGHTS.items():
        found += _index(history, name).score_terms(terms[name]) * np.float32(weight)
    for kind in asked.kinds:
        found += _index(history, kind).score_terms(asked.names) * np.float32(_OF_KIND)
    return found * np.where(_merges(history), np.float32(_MERGE), np.float32(1))


def _latest_first(scores: _Scores, by_names: _Scores) -> _Scores:
    """The scores with those on top that touched what is named, the newer the higher."""
    touching = np.flatnonzero((by_names > 0) & (by_names >= _TOUCHES * by_names.max(initial=0)))
    raised = scores.copy()
    raised[touching] = scores.max(initial=0) * (1 + np.arange(1, len(touching) + 1) / max(len(touching), 1))
    return raised


def _index(history: History, name: str) -> LexicalIndex:
    """The words of a field of the commits of this past, numbered in order."""
    numbers = np.where(history.alive, np.cumsum(history.alive) - 1, NO_PLACE)
    parts = [(table.postings(name), numbers[table.first : table.first + len(table)]) for table in history.tables]
    lengths = np.concatenate([table.arrays[f"lengths.{name}"] for table in history.tables])
    return LexicalIndex(Places(parts), lengths[history.alive], _BY_LENGTH.get(name, _BY_LENGTH_OF_OTHERS))


def _merges(history: History) -> NDArray[np.bool_]:
    """Which commits of this past have several parents."""
    parents = [np.diff(table.arrays["parent_ends"], prepend=0) for table in history.tables]
    many: NDArray[np.bool_] = np.concatenate(parents)[history.alive] > 1
    return many
