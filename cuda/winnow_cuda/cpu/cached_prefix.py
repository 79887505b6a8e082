"""The rows of a sequence that all questions begin with, kept because they come out alike each time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from winnow_cuda.shapes import Batch, Float32, Int64


@dataclass(frozen=True, slots=True)
class PrefixLayer:
    """Keys (after RoPE) and values that all sequences see in one layer, float32 [P, kv_heads, head_dim]."""

    keys: Float32
    values: Float32

    def then(self, keys: Float32, values: Float32) -> PrefixLayer:
        """With further rows."""
        return PrefixLayer(np.concatenate([self.keys, keys]), np.concatenate([self.values, values]))


@dataclass(frozen=True, slots=True)
class CachedPrefix:
    """A sequence that others begin with: rows seen later by layer, and its `hidden` after the last."""

    batch: Batch
    layers: list[PrefixLayer]
    hidden: Float32

    def begins(self, batch: Batch) -> bool:
        """True if every sequence of `batch` begins with it and goes on."""
        if not (np.diff(batch.offsets) > len(self.batch.ids)).all():
            return False
        rows = self._rows(batch)
        same = (batch.ids[rows] == self.batch.ids) & (batch.positions[rows] == self.batch.positions)
        return bool(same.all())

    def rest(self, batch: Batch) -> Batch:
        """The rows that follow it in each sequence."""
        rows = self._rows(batch)
        offsets = batch.offsets - len(self.batch.ids) * np.arange(len(batch.offsets))
        return Batch(np.delete(batch.ids, rows), np.delete(batch.positions, rows), offsets)

    def whole(self, batch: Batch, rest: Float32) -> Float32:
        """The rows of `batch` from those of its `rest`."""
        rows = self._rows(batch)
        hidden = np.empty((len(batch.ids), rest.shape[1]), np.float32)
        hidden[np.delete(np.arange(len(hidden)), rows)] = rest
        hidden[rows] = self.hidden
        return hidden

    def _rows(self, batch: Batch) -> Int64:
        """The rows of `batch` that it is, [sequences, rows]."""
        return batch.offsets[:-1, None] + np.arange(len(self.batch.ids))
