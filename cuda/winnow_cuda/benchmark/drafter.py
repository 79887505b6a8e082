"""Speed of the whole GPU encoder on the device at hand."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from winnow_cuda.benchmark.figure import Figure, figure_of
from winnow_cuda.blas import cublas
from winnow_cuda.device import Device
from winnow_cuda.gpu import GpuEncoder
from winnow_cuda.shapes import (
    Batch,
    EmbeddingTable,
    Float32,
    Int32,
    KeyHead,
    LayerWeights,
    Readout,
    TransformerShape,
    Weights,
)

TOKENS = 131072


def encoder_figures(device: Device, weights: Weights, prefix: Int32) -> Iterator[Figure]:
    """The whole encoder, from token ids on the host: 128K tokens in segments of 2,048 to keys on the device, with units
    of 128, and a question of 60 to hidden states. With cuBLAS where it is installed, and without."""
    shape = weights.shape
    layer = 2 * (shape.width * (shape.q_width + 2 * shape.kv_width + shape.q_width + 3 * shape.ffn_width))
    libraries = [None] if cublas() is None else [None, cublas()]
    for library in libraries:
        encoder = GpuEncoder(device, weights, prefix, library)
        for count, length in ((TOKENS, 2048), (60, 60)):
            ids = np.random.default_rng(1).integers(0, len(weights.embedding), count).astype(np.int32)
            positions = np.tile(np.arange(length, dtype=np.int32) + len(prefix), count // length)
            batch = Batch(ids, positions, np.arange(0, count + 1, length))
            keyed = weights.readout is not None and length == 2048
            units = np.arange(0, count, 128, dtype=np.int32)
            runs = np.stack([units, units + 128], 1)
            work = partial(encoder.run_keys, batch, runs) if keyed else partial(encoder.run, batch)
            seconds = device.seconds(work, 5)
            name = f"encoder to {'keys' if keyed else 'hidden states'}, {'cuBLAS' if library else 'own products'}"
            flops = float(layer * shape.layers * count)
            yield figure_of(name, f"{count} tokens, {shape.layers} layers", seconds, flops, 0, None)


class _RandomTable(EmbeddingTable):
    def __init__(self, rows: int, width: int) -> None:
        self._values = np.random.default_rng(2).standard_normal((rows, width), np.float32)

    def __len__(self) -> int:
        return len(self._values)

    def rows(self, ids: Int32) -> Float32:
        return np.asarray(self._values[ids], np.float32)


def random_weights() -> Weights:
    """Weights of Qwen2.5-Coder-0.5B's shape, eight layers, for machines that do not have the real ones."""
    shape = TransformerShape(8, 896, 14, 2, 64, 4864, 1e6, 1e-6, False)
    random = np.random.default_rng(3)

    def matrix(rows: int, columns: int) -> Float32:
        return np.asarray(random.standard_normal((rows, columns), np.float32) * columns**-0.5, np.float32)

    ones, qkv = np.ones(shape.width, np.float32), shape.q_width + 2 * shape.kv_width
    layer = LayerWeights(
        ones, matrix(qkv, shape.width), np.zeros(qkv, np.float32), None, None, matrix(shape.width, shape.q_width), ones,
        matrix(2 * shape.ffn_width, shape.width), matrix(shape.width, shape.ffn_width),
    )  # fmt: skip
    heads = (KeyHead(matrix(columns, shape.width), 0 * ones, ones) for columns in (64, 257))
    return Weights(shape, _RandomTable(151936, shape.width), (layer,) * shape.layers, Readout(*heads))
