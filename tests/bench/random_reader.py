"""A reader of random weights for any drafter: it means nothing, but a number comes out for each unit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from winnow_engine.encoder.low_rank import MATRICES, Tensors, write_tensors
from winnow_engine.models.gguf_header import read_header


def reader_tensors(drafter: Path, layers: int, rank: int = 4, update: float = 0.1, seed: int = 0) -> Tensors:
    """Updates of about `update` times the size of a matrix's rows, and a head."""
    random, header = np.random.default_rng(seed), read_header(drafter)

    def normal(*shape: int, deviation: float) -> np.ndarray:
        return random.normal(0, deviation, shape).astype(np.float32)

    found: Tensors = {}
    for layer in range(layers):
        for name in MATRICES:
            rows, columns = header.tensors[f"blk.{layer}.{name}.weight"].shape
            found[f"lora.{layer}.{name}.a"] = normal(rank, columns, deviation=columns**-0.5)
            found[f"lora.{layer}.{name}.b"] = normal(rows, rank, deviation=update * rank**-0.5 / 2)
    width = header.tensors["blk.0.attn_norm.weight"].shape[0]
    return found | {
        "head.votes": normal(3, width, deviation=3 * width**-0.5),
        "head.length": np.array([-0.3], np.float32),
        "head.first": np.zeros(2, np.float32),
        "head.mu": normal(width, deviation=0.1),
        "head.sd": np.abs(normal(width, deviation=0.3)) + np.float32(0.5),
    }


def write_reader(path: Path, drafter: Path, layers: int, rank: int = 4, update: float = 0.1) -> Path:
    """Write one for the first `layers` layers of a drafter."""
    write_tensors(path, reader_tensors(drafter, layers, rank, update), 2.0)
    return path
