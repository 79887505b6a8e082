"""Runs every path of the drafter on a GPU once, with small ragged input, for CUDA's memory and race checkers.

usage: compute-sanitizer --tool memcheck|racecheck|initcheck|synccheck python -m winnow_research.speed.sanitize

It encodes ragged segments to keys and to hidden states. Results are compared with the CPU's. With --portable a Hopper
device uses the kernels of older cards too.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from winnow_cuda.compiler import kernel
from winnow_cuda.cpu.encoder import CpuEncoder
from winnow_cuda.device import LEAST_CAPABILITY, open_device
from winnow_cuda.gpu.encoder import GpuEncoder
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

_LENGTHS = (7, 1, 300, 129)


class _RandomTable(EmbeddingTable):
    def __init__(self, rows: int, width: int) -> None:
        self._values = np.random.default_rng(2).standard_normal((rows, width), np.float32)

    def __len__(self) -> int:
        return len(self._values)

    def rows(self, ids: Int32) -> Float32:
        return np.asarray(self._values[ids], np.float32)


def random_weights() -> Weights:
    """Weights of Qwen2.5-Coder-0.5B's shape, two equal layers."""
    shape = TransformerShape(2, 896, 14, 2, 64, 4864, 1e6, 1e-6, False)
    zeros, ones, qkv = np.zeros(shape.width, np.float32), np.ones(shape.width, np.float32), 18 * 64
    layer = LayerWeights(
        ones, _matrix(qkv, shape.width), np.zeros(qkv, np.float32), None, None, _matrix(shape.width, shape.q_width),
        ones, _matrix(2 * shape.ffn_width, shape.width), _matrix(shape.width, shape.ffn_width),
    )  # fmt: skip
    heads = (KeyHead(_matrix(columns, shape.width), zeros, ones) for columns in (64, 257))
    return Weights(shape, _RandomTable(151936, shape.width), (layer,) * 2, readout=Readout(*heads))


def _matrix(rows: int, columns: int) -> Float32:
    values = np.random.default_rng(rows).standard_normal((rows, columns), np.float32)
    return np.asarray(values * columns**-0.5, np.float32)


def difference(actual: np.ndarray, expected: np.ndarray) -> float:
    """The relative norm of the difference."""
    return float(np.linalg.norm(actual - expected) / np.linalg.norm(expected))


def batch_of(lengths: tuple[int, ...]) -> Batch:
    """Random tokens in sequences of these lengths."""
    ids = np.random.default_rng(4).integers(0, 1000, sum(lengths)).astype(np.int32)
    positions = np.concatenate([np.arange(length, dtype=np.int32) for length in lengths])
    return Batch(ids, positions, np.cumsum([0, *lengths]))


def encode(prefix: np.ndarray) -> None:
    """Encode segments to hidden states and keys."""
    weights = random_weights()
    batch, runs = batch_of(_LENGTHS), np.array([[0, 7], [8, 100], [100, 308], [308, 437]], np.int32)
    assert weights.readout is not None
    weights = replace(weights, rows=weights.readout.token)
    cpu = CpuEncoder(weights, prefix)
    expected, rows = cpu.encode(batch), cpu.encode_rows(batch)
    encoder = GpuEncoder(open_device(), weights, prefix)
    print("segments", difference(encoder.encode(batch, frozenset({1})).hidden, expected.hidden))
    print("rows", difference(encoder.encode_rows(batch), rows))
    print("keys of", len(encoder.encode_keys(batch, runs).codes), "tokens")


def choose_portable_kernels() -> None:
    """Make the device pass for an older one, with kernels assembled for the real one."""
    device, assemble = open_device(), kernel.compile_kernel
    own, device.capability = device.capability, LEAST_CAPABILITY
    kernel.compile_kernel = lambda kernel, capability: assemble(kernel, own)


def main() -> None:
    """Run everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--portable", action="store_true")
    if parser.parse_args().portable:
        choose_portable_kernels()
    encode(np.arange(23, dtype=np.int32))


if __name__ == "__main__":
    main()
