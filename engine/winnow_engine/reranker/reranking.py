"""The reranker reads the question together with the leading units, and its scores are added.

Units that the leaders lead to are read too, because code that answers a question together with them often does not lead
itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.shapes import Float32, Int64
from winnow_engine.core import Cancellation, Scores
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.workspace import Workspace
from winnow_engine.reranker.background import BackgroundReranker
from winnow_engine.reranker.layout import UnitText
from winnow_engine.selection.budget import density
from winnow_engine.selection.candidates import highest
from winnow_engine.selection.fusion import FusedScores
from winnow_engine.selection.scoring_input import ScoringInput

_LEADERS = 24
_THREADS = min(os.cpu_count() or 1, 8)


def rerank(
    asked: ScoringInput,
    scores: FusedScores,
    unit_tokens: NDArray[np.int32],
    drafter: Drafter,
    reranker: BackgroundReranker,
    cancellation: Cancellation,
) -> FusedScores:
    """The scores with the reranker's of the leading units, as `reranker` among the contributions.

    Of a list it reads each sub-question with the units that lead for it, as many tokens together as for one question.
    `unit_tokens`, int32 [U], are 0 for units that cannot be kept. Scores stay for a question about a change, and where
    the reranker cannot be used. Raises CancelledError.
    """
    if asked.question.change is not None:
        return scores
    tokens = reranker.tokens(cancellation)
    if not tokens:
        return scores
    added, count = [], len(scores.total)
    for one, units in readings(asked, scores, unit_tokens, tokens):
        if not len(units):
            added.append(np.zeros(count, np.float32))
            continue
        question = drafter.template.question(one.text, one.question.code)
        said = reranker.scores(question.ids, texts_of(one.workspace, units, drafter), cancellation)
        if said is None:
            return scores
        added.append(addition(reranker.use.weight, said, units, count))
    return scores.with_each("reranker", added)


def addition(weight: float, said: Float32, read: Int64, units: int) -> Float32:
    """float32 [units]: `weight` times what the reranker `said` of those `read`, less the mean; else 0."""
    added = np.zeros(units, np.float32)
    added[read] = np.float32(weight) * (said - said.mean())
    return added


def readings(
    asked: ScoringInput, scores: FusedScores, unit_tokens: NDArray[np.int32], tokens: int
) -> Iterator[tuple[ScoringInput, NDArray[np.int64]]]:
    """A question, or each of a list, with the units to read for it, `tokens` in all at most."""
    questions = [asked] if scores.log_shares is None else asked.subquestions
    for one, own in zip(questions, scores.of_each, strict=True):
        yield one, units_to_read(one.workspace, own, unit_tokens, tokens // len(questions))


def units_to_read(
    workspace: Workspace, total: Scores, unit_tokens: NDArray[np.int32], tokens: int
) -> NDArray[np.int64]:
    """Units to read, in ascending order: half of the tokens of those that lead, half of what these lead to."""
    kept = np.flatnonzero((total > -np.inf) & (unit_tokens > 0))
    ranked = kept[np.argsort(-density(total[kept], unit_tokens[kept]), kind="stable")]
    half = _filling(ranked, unit_tokens, tokens // 2)
    rest = ranked[_led_to(workspace, total)[ranked] & ~np.isin(ranked, half)]
    return np.sort(np.concatenate([half, _filling(rest, unit_tokens, tokens // 2)]))


def texts_of(workspace: Workspace, units: NDArray[np.int64], drafter: Drafter) -> list[UnitText]:
    """Units as the reranker reads them."""
    numbers = workspace.files_of(units).tolist()
    texts = [file.text_of(unit) for file, unit in (workspace.units[unit] for unit in units.tolist())]
    together = max(-(-len(texts) // _THREADS), 1)
    chunks = [texts[first : first + together] for first in range(0, len(texts), together)]
    with ThreadPoolExecutor(_THREADS) as pool:  # llama.cpp's tokeniser needs no GIL
        parts = pool.map(drafter.vocabulary.tokenize_each, chunks)
        headers = {number: drafter.template.header(workspace.files[number].path) for number in set(numbers)}
        each = [own for ids, counts in parts for own in np.split(ids, np.cumsum(counts)[:-1])]
    return [UnitText(number, headers[number], own) for number, own in zip(numbers, each, strict=True)]


def _filling(ranking: NDArray[np.int64], unit_tokens: NDArray[np.int32], tokens: int) -> NDArray[np.int64]:
    """The first of some units that fit together into so many tokens."""
    return ranking[np.cumsum(unit_tokens[ranking]) <= tokens]


def _led_to(workspace: Workspace, total: Scores) -> NDArray[np.bool_]:
    """True for units in a leader's file, used by a leader, or using one, bool [U]."""
    leaders = {int(unit): 1.0 for unit in highest(total, _LEADERS)}
    files = np.zeros(len(workspace.files), np.float32)
    files[workspace.files_of(list(leaders))] = 1
    symbols = workspace.symbols
    return (workspace.by_unit(files) > 0) | (symbols.used_by(leaders) > 0) | (symbols.using(leaders) > 0)
