"""`heads` profiles: training-free scoring with the attention of a few heads that find answers.

For head h, question tokens i, unit u (pre-RoPE q and k, scale 1/√D): p(i,u) is the softmax mass of u under i over
the whole workspace, and f(u) = log mean_i p(i,u), less the same under null questions. Three features a head:
`all` averages over all question tokens, `body` over what the user wrote, `peak` replaces the mass by the highest
log-probability in the unit. Evidence is Σ weight · f.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from winnow_cuda.readout import rows_of
from winnow_cuda.scorer import Scorer
from winnow_cuda.shapes import Batch, Encoder, Float32, Int32, Int64, Readout
from winnow_engine.drafter.profile import Arrays, QuestionStates, Read
from winnow_engine.drafter.weights import Merge
from winnow_engine.errors import ProfileError

Feature = Literal["all", "body", "peak"]
FEATURES: tuple[Feature, ...] = get_args(Feature)


@dataclass(frozen=True, slots=True)
class ScoringHead:
    """A (layer, query head) whose feature counts with `weight` ≥ 0."""

    layer: int
    head: int
    feature: Feature
    weight: float

    def __post_init__(self) -> None:
        if self.layer < 0 or self.head < 0 or self.weight < 0 or self.feature not in FEATURES:
            raise ProfileError(f"not a scoring head: {self}")


def _unchanged(name: str, value: Float32) -> Float32:
    return value


class HeadsProfile:
    """Scores with the drafter's own heads. `group` is the drafter's query heads per KV head."""

    readout: Readout | None = None

    def __init__(self, heads: Sequence[ScoringHead], group: int) -> None:
        if not heads:
            raise ProfileError("a heads profile needs at least one scoring head")
        self._heads, self._group = tuple(heads), group
        self.layers = 1 + max(h.layer for h in heads)
        self.taps = frozenset(h.layer for h in heads)
        kept = sorted({self._key_head(h) for h in heads})
        self.identity = "heads-" + hashlib.sha256(repr(kept).encode()).hexdigest()[:16]

    @property
    def merge(self) -> Merge:
        """The weights stay as they are."""
        return _unchanged

    def read(self, encoder: Encoder, batch: Batch, runs: Int32, check: Callable[[], None]) -> Read:
        """See `Profile`: the pre-RoPE keys of every KV head a scoring head reads."""
        keys, rows = encoder.encode(batch, self.taps, check).keys, rows_of(runs)
        pairs = {self._key_head(h) for h in self._heads}
        return Read({f"{layer}.{kv}": keys[layer][rows, kv].astype(np.float16) for layer, kv in pairs}, {})

    def keep(self, read: Read, units: Int32, count: int) -> Arrays:
        """All that was read: 2 · head_dim bytes a token and KV head."""
        return read.tokens

    def score(
        self,
        arrays: Arrays,
        unit_offsets: Int64,
        question: QuestionStates,
        nulls: Sequence[QuestionStates],
        scorer: Scorer,
    ) -> dict[str, Float32]:
        """Evidence `heads`."""
        weights = np.array([head.weight for head in self._heads], np.float32)
        unasked = [self.features(arrays, unit_offsets, null, scorer) for null in nulls]
        asked = self.features(arrays, unit_offsets, question, scorer)
        return {"heads": weights @ (asked - np.mean(unasked, axis=0))}

    def features(self, arrays: Arrays, unit_offsets: Int64, states: QuestionStates, scorer: Scorer) -> Float32:
        """f of every scoring head under one question, nothing subtracted: float32 [heads, U]."""
        return np.stack([self._feature(head, arrays, unit_offsets, states, scorer) for head in self._heads])

    def _key_head(self, head: ScoringHead) -> tuple[int, int]:
        return head.layer, head.head // self._group

    def _feature(
        self, head: ScoringHead, arrays: Arrays, unit_offsets: Int64, states: QuestionStates, scorer: Scorer
    ) -> Float32:
        layer, kv = self._key_head(head)
        queries = states.encoded.queries[layer][:, head.head]
        rows = queries if head.feature == "all" else queries[states.body]
        mass, peak = scorer.unit_mass(arrays[f"{layer}.{kv}"], None, unit_offsets, np.ascontiguousarray(rows))
        normaliser = np.logaddexp.reduce(mass, axis=0)
        if head.feature == "peak":
            return np.asarray(np.maximum(peak - normaliser, -30).mean(axis=1), np.float32)
        average = np.exp(mass - normaliser).mean(axis=1)
        return np.asarray(np.log(np.maximum(average, 1e-12)), np.float32)


def heads_of(entries: Any, group: int) -> HeadsProfile:
    """The profile of a document's "heads": [{"layer", "head", "feature", "weight"}, …]. ProfileError if malformed."""
    try:
        return HeadsProfile([ScoringHead(**entry) for entry in entries], group)
    except TypeError as error:
        raise ProfileError(f"not the heads of a profile: {error}; run `winnow calibrate` again") from error


def generic_heads(block_count: int, heads: int, group: int) -> HeadsProfile:
    """For a drafter nobody calibrated: every head of the layers between an eighth and a third of its depth.

    In the drafters measured, the heads that find answers sit there; singling them out takes a calibration.
    """
    first, last = block_count // 8, max(block_count // 3, block_count // 8 + 1)
    every = [ScoringHead(layer, h, "body", 1.0) for layer in range(first, last) for h in range(heads)]
    return HeadsProfile(every, group)
