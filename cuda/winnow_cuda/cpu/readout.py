"""Keys off hidden states: what `Weights.readout` means, on the CPU and on a device."""

from __future__ import annotations

import numpy as np

from winnow_cuda.ops.pool_runs import pool_runs
from winnow_cuda.ops.quantise_keys import quantise_keys
from winnow_cuda.ops.standardise import standardise
from winnow_cuda.shapes import Float32, Int32, Int64, KeyHead, Keys, Readout


def rows_of(runs: Int32) -> Int64:
    """The row numbers of all runs in turn, int64 [S]."""
    return np.concatenate([np.arange(start, stop) for start, stop in runs] or [np.empty(0, np.int64)])


def read_keys(hidden: Float32, runs: Int32, readout: Readout) -> Keys:
    """Keys of rows of hidden states, float32 [T, width], as `Encoder.encode_keys` gives them."""
    rows = hidden[rows_of(runs)]
    codes, scales = quantise_keys(_through(rows, readout.token))
    columns = _through(rows, readout.unit)
    shares, logits = np.ascontiguousarray(columns[:, :-1]), np.ascontiguousarray(columns[:, -1])
    borders = np.cumsum([0, *(runs[:, 1] - runs[:, 0])]).astype(np.int32)
    return Keys(codes, scales, pool_runs(shares, logits, np.stack([borders[:-1], borders[1:]], 1)))


def _through(rows: Float32, head: KeyHead) -> Float32:
    return np.asarray(standardise(rows, head.mean, head.deviation) @ head.matrix.T, np.float32)


def joined_keys(parts: list[Keys]) -> Keys:
    """The keys of several calls as those of one."""
    return Keys(
        np.concatenate([part.codes for part in parts]),
        np.concatenate([part.scales for part in parts]),
        np.concatenate([part.sums for part in parts]),
    )
