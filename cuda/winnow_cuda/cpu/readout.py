"""Keys from hidden states, on the CPU: what `Weights.readout` means."""

from __future__ import annotations

import numpy as np

from winnow_cuda.ops.pool_runs import pool_runs
from winnow_cuda.ops.quantise_keys import quantise_keys
from winnow_cuda.ops.standardise import standardise
from winnow_cuda.shapes import Float32, Int32, KeyHead, Keys, Readout, rows_of


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
