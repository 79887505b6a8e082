"""Which heads of a drafter lead from a description to its function? They are the profile of a drafter without an
adapter.

Heads join one at a time, always the one that raises the mean reciprocal rank of the right unit most, as long as it
rises. Their weights are then fitted. A deep head costs the encoding of every layer below it, so heads are chosen for
each of a few depths. The shallowest choice wins that comes close to the best one, on questions that chose none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from winnow_cuda.shapes import Float32
from winnow_engine.core import Cancellation, ProgressSink
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.heads import FEATURES, HeadsProfile, ScoringHead
from winnow_engine.encoder.weights import shape_of
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.models.gguf_header import read_header
from winnow_engine.storage.store import Store
from winnow_research.calibration.listwise import ListwiseExample, fit_weights
from winnow_research.calibration.profile_writing import with_fusion
from winnow_research.evaluation.cases import Scene
from winnow_research.evaluation.haystack import indexed

_DEPTHS = (4, 6, 8, 10, 12)  # layers; in the drafters measured, the heads that find answers sit in 2 to 13 of 24
_MOST_HEADS = 6
_LEAST_GAIN = 0.003  # of mean reciprocal rank, without which no head joins
_CLOSE = 0.02  # in mean reciprocal rank; a shallower choice may cost that much
_PENALTY = 1.0


@dataclass(frozen=True, slots=True)
class MeasuredQuestion:
    """One question: the features of every candidate head, float32 [heads, U], and the number of the right unit."""

    features: Float32
    gold: int


def candidates(file: Path) -> list[ScoringHead]:
    """Every feature of every head of a GGUF's first layers."""
    header = read_header(file)
    depth = min(_DEPTHS[-1], header.block_count)
    heads = range(shape_of(header, depth).heads)
    return [ScoringHead(layer, h, feature, 1.0) for layer in range(depth) for h in heads for feature in FEATURES]


def choose_heads(
    file: Path, scenes: Iterable[Scene], store: Store, progress: ProgressSink, cancellation: Cancellation
) -> list[ScoringHead]:
    """The scoring heads of the drafter in `file` with their weights, found on the questions of some scenes."""
    heads = candidates(file)
    profile = HeadsProfile(heads, shape_of(read_header(file), 1).group)
    cache = KeyCache(store, Drafter(file, with_fusion(profile)))
    measured = [list(_measure(cache, profile, scene, progress, cancellation)) for scene in scenes]
    chosen_on, judged_on = ([case for cases in measured[start::2] for case in cases] for start in (0, 1))
    choices = [_joined(chosen_on, [n for n, head in enumerate(heads) if head.layer < depth]) for depth in _DEPTHS]
    ranks = [mean_rank(judged_on, choice) for choice in choices]
    chosen = next(choice for choice, rank in zip(choices, ranks, strict=True) if rank >= max(ranks) - _CLOSE)
    return _weighed([heads[n] for n in chosen], [(one.features[chosen], one.gold) for one in chosen_on + judged_on])


def mean_rank(cases: Sequence[MeasuredQuestion], heads: Sequence[int]) -> float:
    """Mean reciprocal rank of the right unit by the sum of some heads' features."""
    summed = ((one.features[list(heads)].sum(axis=0), one.gold) for one in cases)
    return float(np.mean([1.0 / (1 + int((scores > scores[gold]).sum())) for scores, gold in summed]))


def _measure(
    cache: KeyCache, profile: HeadsProfile, scene: Scene, progress: ProgressSink, cancellation: Cancellation
) -> Iterator[MeasuredQuestion]:
    workspace = Workspace(indexed(scene.files))
    keys = cache.of(workspace, progress, cancellation).joined
    unasked = None
    for case in scene.cases:
        (states,) = cache.drafter.states_of([case.question.text], None, cancellation)
        if unasked is None:
            unasked = np.mean([profile.features(keys.arrays, keys.offsets, null) for null in states.nulls], axis=0)
        features = profile.features(keys.arrays, keys.offsets, states) - unasked
        yield MeasuredQuestion(features, workspace.unit_at(case.golds[0].path, case.golds[0].start_line))


def _joined(cases: Sequence[MeasuredQuestion], allowed: Sequence[int]) -> list[int]:
    """Heads in the order in which they joined, each of which raised the mean reciprocal rank most."""
    chosen: list[int] = []
    best = 0.0
    while len(chosen) < _MOST_HEADS:
        rank, head = max((mean_rank(cases, [*chosen, n]), n) for n in allowed if n not in chosen)
        if rank <= best + _LEAST_GAIN:
            break
        best = rank
        chosen.append(head)
    return chosen


def _weighed(heads: Sequence[ScoringHead], cases: Sequence[tuple[Float32, int]]) -> list[ScoringHead]:
    """The heads with the weights that make the right units likeliest, without those that do not help."""
    one = np.ones(1)
    examples = [ListwiseExample(one, f.T[[gold]], np.delete(f.T, gold, axis=0)) for f, gold in cases]
    weights = fit_weights(examples, _PENALTY)[:, 0]
    return [replace(head, weight=round(float(w), 4)) for head, w in zip(heads, weights, strict=True) if w > 0]
