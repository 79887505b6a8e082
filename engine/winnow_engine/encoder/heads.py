"""`heads` profiles: training-free scoring with the attention of a few heads that find answers.

For head h, question tokens i, unit u (pre-RoPE q and k, scale 1/√D): p(i,u) is the softmax mass of u under i over
the whole workspace, and f(u) = log mean_i p(i,u), less the same under null questions. Three features a head:
`all` averages over all question tokens, `body` over what the user wrote, `peak` replaces the mass by the highest
log-probability in the unit. The score is Σ weight · f.

What all keys of a head have in common shifts all scores of a query by the same amount, which the softmax ignores. But
it can be most of a key: a bias of Qwen2's shifts one column by 158. So the mean key of a few reference tokens is
subtracted before keys are stored.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.ops.readout import quantise_keys
from winnow_cuda.ops.scoring import unit_mass
from winnow_cuda.shapes import Batch, Encoder, Float32, Int32, Int64, Readout, rows_of
from winnow_engine.encoder.profile import Arrays, QuestionStates, ReadArrays
from winnow_engine.encoder.weights import Merge, unchanged
from winnow_engine.errors import ProfileError

Feature = Literal["all", "body", "peak"]
FEATURES: tuple[Feature, ...] = get_args(Feature)

# Any tokens will do. On SmolLM2 and Qwen2.5-Coder-0.5B the largest column of a key is then 4.1 and 4.4 on average; with
# other tokens 4.0 to 5.0, with the mean of all keys 3.6 and 3.8, with the bias alone subtracted 9.2 and 7.0.
_REFERENCE = np.arange(256, 320, dtype=np.int32)


@dataclass(frozen=True, slots=True)
class ScoringHead:
    """A query head of a layer, the feature taken from it, and its weight ≥ 0."""

    layer: int
    head: int
    feature: Feature
    weight: float

    def __post_init__(self) -> None:
        whole = isinstance(self.layer, int) and isinstance(self.head, int) and self.layer >= 0 and self.head >= 0
        if not whole or not 0 <= self.weight < math.inf or self.feature not in FEATURES:
            raise ProfileError(f"not a scoring head: {self}")


class HeadsProfile:
    """Scores with the drafter's own heads. `group` is the number of query heads per KV head."""

    readout: Readout | None = None

    def __init__(self, heads: Sequence[ScoringHead], group: int) -> None:
        if not heads:
            raise ProfileError("a heads profile needs at least one scoring head")
        self._heads, self._group = tuple(heads), group
        self.merge: Merge = unchanged
        self._centres: dict[int, Float32] = {}
        self._centring = threading.Lock()
        self.layers = 1 + max(h.layer for h in heads)
        self.taps = frozenset(h.layer for h in heads)
        kept = sorted({self._key_head(h) for h in heads})
        self.identity = "heads-" + hashlib.sha256(repr(("int8", kept)).encode()).hexdigest()[:16]

    def read(self, encoder: Encoder, batch: Batch, runs: Int32, check: Callable[[], None]) -> ReadArrays:
        """See `Profile`: the pre-RoPE keys of every KV head a scoring head reads."""
        centres = self._centres_of(encoder, check)
        keys, rows = encoder.encode(batch, self.taps, check).keys, rows_of(runs)
        tokens: dict[str, NDArray[Any]] = {}
        for layer, kv in {self._key_head(h) for h in self._heads}:
            centred = keys[layer][rows, kv] - centres[layer][kv]
            codes, scales = quantise_keys(centred)
            lengths = np.linalg.norm(centred, axis=1)
            tokens |= {f"{layer}.{kv}": codes, f"{layer}.{kv}.scales": (scales * lengths).astype(np.float16)}
        return ReadArrays(tokens, {})

    def keep(self, read: ReadArrays, units: Int32, count: int) -> Arrays:
        """All that was read: head_dim + 2 bytes per token and KV head."""
        return read.tokens

    def score(self, arrays: Arrays, unit_offsets: Int64, question: QuestionStates) -> dict[str, Float32]:
        """The score `heads`."""
        weights = np.array([head.weight for head in self._heads], np.float32)
        unasked = [self.features(arrays, unit_offsets, null) for null in question.nulls]
        asked = self.features(arrays, unit_offsets, question)
        return {"heads": weights @ (asked - np.mean(unasked, axis=0))}

    def features(self, arrays: Arrays, unit_offsets: Int64, states: QuestionStates) -> Float32:
        """log mean_i p(i,u) of every scoring head under one question: float32 [heads, U]."""
        return np.stack([self._feature(head, arrays, unit_offsets, states) for head in self._heads])

    def _centres_of(self, encoder: Encoder, check: Callable[[], None]) -> dict[int, Float32]:
        """The reference tokens' mean keys by layer, float32 [kv_heads, head_dim]."""
        with self._centring:
            if not self._centres:
                count = len(_REFERENCE)
                batch = Batch(_REFERENCE, np.arange(count, dtype=np.int32), np.array([0, count]))
                keys = encoder.encode(batch, self.taps, check).keys
                self._centres = {layer: rows.mean(axis=0) for layer, rows in keys.items()}
            return self._centres

    def _key_head(self, head: ScoringHead) -> tuple[int, int]:
        return head.layer, head.head // self._group

    def _feature(self, head: ScoringHead, arrays: Arrays, unit_offsets: Int64, states: QuestionStates) -> Float32:
        layer, kv = self._key_head(head)
        queries, name = states.encoded.queries[layer][:, head.head], f"{layer}.{kv}"
        rows = np.ascontiguousarray(queries if head.feature == "all" else queries[states.body])
        mass, peak = unit_mass(arrays[name], arrays[f"{name}.scales"], unit_offsets, rows)
        normaliser = np.logaddexp.reduce(mass, axis=0)
        if head.feature == "peak":
            return np.asarray(np.maximum(peak - normaliser, -30).mean(axis=1), np.float32)
        average = np.exp(mass - normaliser).mean(axis=1)
        return np.asarray(np.log(np.maximum(average, 1e-12)), np.float32)


def heads_of(entries: Any, heads: int, group: int) -> HeadsProfile:
    """The profile of a document's "heads": [{"layer", "head", "feature", "weight"}, …]. ProfileError if malformed."""
    try:
        chosen = [ScoringHead(**entry) for entry in entries]
        if any(one.head >= heads for one in chosen):
            raise ProfileError(f"the profile names a head that this drafter, with {heads} a layer, does not have")
        return HeadsProfile(chosen, group)
    except TypeError as error:
        raise ProfileError(f"not the heads of a profile: {error}; run `winnow calibrate` again") from error


def generic_heads(block_count: int, heads: int, group: int) -> HeadsProfile:
    """Every head of the layers between an eighth and a third of the depth, where those that find answers mostly are."""
    first, last = block_count // 8, max(block_count // 3, block_count // 8 + 1)
    every = [ScoringHead(layer, h, "body", 1.0) for layer in range(first, last) for h in range(heads)]
    return HeadsProfile(every, group)
