"""Speed of the whole GPU encoder on the device at hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from winnow_cuda.device import Device
from winnow_cuda.gpu.encoder import GpuEncoder
from winnow_cuda.ops.attention import BLOCK
from winnow_cuda.shapes import (
    Batch,
    BlockRule,
    EmbeddingTable,
    Float32,
    Int32,
    KeyHead,
    LayerWeights,
    Readout,
    TransformerShape,
    Weights,
)
from winnow_research.speed.figure import SpeedFigure, figure_of
from winnow_research.speed.timing import seconds_of

TOKENS = 131072
_QWEN3 = TransformerShape(28, 1024, 16, 8, 128, 3072, 1e6, 1e-6, False)


def encoder_figures(device: Device, weights: Weights, prefix: Int32) -> Iterator[SpeedFigure]:
    """The whole encoder, from token ids on the host: 128K tokens in segments of 2,048 to keys on the device, with units
    of 128, and a question of 60 to hidden states."""
    shape = weights.shape
    layer = 2 * (shape.width * (shape.q_width + 2 * shape.kv_width + shape.q_width + 3 * shape.ffn_width))
    encoder = GpuEncoder(device, weights, prefix)
    for count, length in ((TOKENS, 2048), (60, 60)):
        ids = np.random.default_rng(1).integers(0, len(weights.embedding), count).astype(np.int32)
        positions = np.tile(np.arange(length, dtype=np.int32) + len(prefix), count // length)
        batch = Batch(ids, positions, np.arange(0, count + 1, length))
        keyed = weights.readout is not None and length == 2048
        units = np.arange(0, count, 128, dtype=np.int32)
        runs = np.stack([units, units + 128], 1)
        work = partial(encoder.run_keys, batch, runs) if keyed else partial(encoder.run, batch)
        seconds = seconds_of(device, work, 5)
        name = f"encoder to {'keys' if keyed else 'hidden states'}"
        yield figure_of(
            name, f"{count} tokens, {shape.layers} layers", seconds, float(layer * shape.layers * count), 0, None
        )


class _RandomTable(EmbeddingTable):
    def __init__(self, rows: int, width: int) -> None:
        self._values = np.random.default_rng(2).standard_normal((rows, width), np.float32)

    def __len__(self) -> int:
        return len(self._values)

    def rows(self, ids: Int32) -> Float32:
        return np.asarray(self._values[ids], np.float32)


def joint_figures(device: Device) -> Iterator[SpeedFigure]:
    """A drafter of Qwen3-0.6B's shape at full depth, jointly over 128K tokens: a tenth of the blocks, a window's."""
    weights, blocks = _random(_QWEN3, normed=True), TOKENS // BLOCK
    window = blocks // 20  # of `blocks` by `blocks` causal pairs half exist
    rule = BlockRule(alpha=2.0, window=window)  # above 1 no block is chosen for its score
    ids = np.random.default_rng(1).integers(0, len(weights.embedding), TOKENS).astype(np.int32)
    batch = Batch(ids, np.arange(TOKENS, dtype=np.int32), np.array([0, TOKENS]), rule)
    encoder, share = GpuEncoder(device, weights, np.empty(0, np.int32)), (window + rule.sink) / (blocks / 2)
    seconds = seconds_of(device, partial(encoder.run, batch), 5)
    yield figure_of(
        "joint pass", f"{TOKENS} tokens, {_QWEN3.layers} layers, {share:.0%} of blocks", seconds, 0, 0, None
    )


def random_weights() -> Weights:
    """Weights of Qwen2.5-Coder-0.5B's shape, eight layers, for machines that do not have the real ones."""
    weights = _random(TransformerShape(8, 896, 14, 2, 64, 4864, 1e6, 1e-6, False), normed=False)
    width = weights.shape.width
    zeros, ones = np.zeros(width, np.float32), np.ones(width, np.float32)
    heads = (KeyHead(_matrix(columns, width), zeros, ones) for columns in (64, 257))
    return replace(weights, readout=Readout(*heads))


def _random(shape: TransformerShape, normed: bool) -> Weights:
    """The same random layer at every depth; with `normed` queries and keys are normalised, and otherwise biased."""
    ones, qkv = np.ones(shape.width, np.float32), shape.q_width + 2 * shape.kv_width
    bias, norm = (None, np.ones(shape.head_dim, np.float32)) if normed else (np.zeros(qkv, np.float32), None)
    layer = LayerWeights(
        ones, _matrix(qkv, shape.width), bias, norm, norm, _matrix(shape.width, shape.q_width), ones,
        _matrix(2 * shape.ffn_width, shape.width), _matrix(shape.width, shape.ffn_width),
    )  # fmt: skip
    return Weights(shape, _RandomTable(151936, shape.width), (layer,) * shape.layers)


def _matrix(rows: int, columns: int) -> Float32:
    values = np.random.default_rng(rows).standard_normal((rows, columns), np.float32)
    return np.asarray(values * columns**-0.5, np.float32)
