"""winnow_llama/cpu/q4_k.h, the matrix product for AVX2 that is built into llama.cpp, against the portable one."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from numpy.typing import NDArray

from . import ggml

BLOCK, COLUMNS, ROWS = 256, 8, 4
WEIGHTS = np.dtype(
    [("d", "<f2", COLUMNS), ("dmin", "<f2", COLUMNS), ("scales", "u1", 12 * COLUMNS), ("quants", "u1", 128 * COLUMNS)]
)
ACTIVATIONS = np.dtype([("d", "<f4", ROWS), ("quants", "i1", BLOCK * ROWS), ("sums", "<i2", 16 * ROWS)])
OURS, THEIRS = "winnow_gemm_q4_K", "ggml_gemm_q4_K_8x8_q8_K_generic"


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    """llama.cpp's library for the CPU, if our product is in it."""
    found = ggml.cpu_library()
    if not hasattr(found, OURS):
        pytest.skip("llama.cpp was built for AVX-512, for another processor, or not by winnow_llama")
    return found


def weights(blocks: int, columns: int, generator: np.random.Generator) -> NDArray[np.void]:
    """Repacked Q4_K weights: any bytes are weights."""
    count = blocks * columns // COLUMNS
    found = np.frombuffer(generator.bytes(count * WEIGHTS.itemsize), WEIGHTS).copy()
    for name in ("d", "dmin"):
        found[name] = generator.uniform(0.001, 0.01, (count, COLUMNS))
    return found


def activations(blocks: int, rows: int, generator: np.random.Generator) -> NDArray[np.void]:
    """Q8_K activations of four rows each, with all values that these may have, also the least."""
    count = blocks * rows // ROWS
    found = np.zeros(count, ACTIVATIONS)
    found["d"] = generator.uniform(0.001, 0.1, (count, ROWS))
    quants = generator.integers(-128, 128, (count, BLOCK // 8, ROWS, 8), np.int8)
    quants[0] = -128  # with weights of 15, the sums of 16 bits are fullest
    found["quants"] = quants.reshape(count, -1)
    sixteens = quants.reshape(count, 4, 4, 2, ROWS, 8).sum((3, 5), np.int16)  # of each 64: sixteen, row
    found["sums"] = sixteens.transpose(0, 1, 3, 2).reshape(count, -1)
    return found


def product(
    library: ctypes.CDLL, name: str, left: NDArray[np.void], right: NDArray[np.void], shape: tuple[int, int, int]
) -> NDArray[np.float32]:
    """What the function writes, of (weights a column, rows, columns), into a matrix with a spare column."""
    length, rows, columns = shape
    out = np.full((rows, columns + 1), np.nan, np.float32)
    function = getattr(library, name)
    function.restype = None
    function.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_void_p] * 2, *[ctypes.c_int] * 2]
    function(length, out.ctypes.data, columns + 1, left.ctypes.data, right.ctypes.data, rows, columns)
    assert np.isnan(out[:, -1]).all()
    return out[:, :-1]


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize("rows", [4, 28, 32, 36, 100])
@pytest.mark.parametrize("columns", [8, 16, 24])
def test_it_multiplies_as_the_portable_product(library: ctypes.CDLL, blocks: int, rows: int, columns: int) -> None:
    generator = np.random.default_rng(rows * columns + blocks)
    left, right = weights(blocks, columns, generator), activations(blocks, rows, generator)
    left["quants"][0], left["scales"][0] = 0xFF, 0xFF
    shape = BLOCK * blocks, rows, columns
    ours, theirs = (product(library, name, left, right, shape) for name in (OURS, THEIRS))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5 * np.abs(theirs).max())
