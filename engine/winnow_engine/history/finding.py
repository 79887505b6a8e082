"""The commits that answer when something changed, found by words: of messages, of paths, and of what changed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from winnow_engine.history.reading import History
from winnow_engine.history.terms import Int64, stem, whole, words
from winnow_engine.index.lexical import LexicalIndex
from winnow_engine.index.postings import NO_PLACE, Places

_WEIGHTS = {"message": 1.0, "author": 0.5, "paths": 0.5, "names": 0.8}
_BY_LENGTH = {"message": 0.75, "author": 0.0}
_BY_LENGTH_OF_OTHERS = 0.3  # a commit that changed much still changed each of it
_OF_KIND = 1.0  # weight of `added` or `removed` where the question asks for that
_WHOLE_NAME = 1.5  # weight of a name as it is written, beside that of the words in it
_MERGE = 0.7  # what a merge's message counts, as the merged commits have it too
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_CODE = re.compile(r"`[^`]*`|\w+[_.:]+\w+|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\w+\(\)")

# Words of the asking, not of what is asked about; those that say what happened weigh little in a message.
_ASKING_WORDS = """
a an and any are as at been by can could date did do does ever first for from had has have how i in is it its last
latest me most our recently since so that the their there these they this those time to us was we were what when which
who why with would you commit commits version release
"""
_ASKING = frozenset(_ASKING_WORDS.split())
_ADDED = "add appear begin began create implement introduce start started"
_REMOVED = "delete disappear drop gone removal remove stop"
_CHANGED = "alter change edit happen modify touch update"
_KINDS = {
    **dict.fromkeys(map(stem, _ADDED.split()), "added"),
    **dict.fromkeys(map(stem, _REMOVED.split()), "removed"),
    **dict.fromkeys(map(stem, _CHANGED.split()), ""),
}
_WORD_OF_KIND = 0.5  # weight of such a word


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
    """The commits that answer a question best, best first; of equal ones the newest first."""
    scores = _scores(history, question)
    rows = np.flatnonzero(history.alive)[scores > 0]
    return _best(history, rows, scores[scores > 0], most)


def newest_commits(history: History, most: int) -> list[FoundCommit]:
    """The newest commits, whatever they are about."""
    rows = np.flatnonzero(history.alive)
    return _best(history, rows, np.zeros(len(rows), np.float32), most)


def _best(history: History, rows: Int64, scores: NDArray[np.float32], most: int) -> list[FoundCommit]:
    """The commits with the best scores; of equal ones the newest first."""
    times = np.concatenate([table.arrays["times"] for table in history.tables])[rows]
    order = np.lexsort((-rows, -times, -scores))[:most]
    found = zip(rows[order].tolist(), scores[order].tolist(), times[order].tolist(), strict=True)
    return [FoundCommit(history.id_of(row), score, time, row) for row, score, time in found]


def _scores(history: History, question: str) -> NDArray[np.float32]:
    """The score of each commit of the past, float32."""
    terms, kinds = asked_terms(question)
    weights = _WEIGHTS | dict.fromkeys(kinds, _OF_KIND)
    in_code = {term: weight for term, weight in terms.items() if not term.isdecimal()}
    of_names = in_code | dict(names_in(question))
    asked = {"message": terms, "author": terms, "paths": in_code}
    found = np.zeros(int(history.alive.sum()), np.float32)
    for name, weight in weights.items():
        found += _index(history, name).score_terms(asked.get(name, of_names)) * np.float32(weight)
    return found * np.where(_merges(history), np.float32(_MERGE), np.float32(1))


def asked_terms(question: str) -> tuple[dict[str, float], set[str]]:
    """The terms of a question with their weights, and whether it asks for what was added or removed.

    Words in code count whatever they are. A question of nothing but words of the asking is searched for these.
    """
    terms: dict[str, float] = defaultdict(float)
    code = [term for part in _CODE.findall(question) for term in map(stem, words(part))]
    plain = [word.lower() for word in words(_CODE.sub(" ", question))]
    kinds = set()
    for word in plain:
        kind = _KINDS.get(stem(word))
        if word not in _ASKING:
            terms[stem(word)] += 1.0 if kind is None else _WORD_OF_KIND
        kinds |= {kind} if kind else set()
    for term in code:
        terms[term] += 1.0
    return dict(terms) or dict.fromkeys(map(stem, plain), 1.0), kinds


def names_in(question: str) -> Mapping[str, float]:
    """The names in a question, as they are written; a plain word of the asking is none."""
    code = {name for part in _CODE.findall(question) for name in _NAME.findall(part)}
    plain = {name for name in _NAME.findall(_CODE.sub(" ", question)) if not _is_asking(name)}
    return {whole(name): _WHOLE_NAME for name in sorted(code | plain)}


def _is_asking(word: str) -> bool:
    return word.lower() in _ASKING or stem(word) in _KINDS


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
