"""The memory-bound kernels, on the lane simulator, against their NumPy twins."""

import numpy as np
import pytest
from arrays import error, normal
from lanes import from_half, half, launch
from twins import rms_norm_numpy, rope_numpy

from winnow_cuda.ops.elementwise import rope_table
from winnow_cuda.ops.gpu import elementwise as elementwise_op

RTOL = 5e-4  # float16 rounds the result, relative 2^-12


def rounded(x: np.ndarray) -> np.ndarray:
    return from_half(half(x))


@pytest.mark.parametrize(("rows", "width"), [(1, 64), (9, 896), (17, 100), (8, 576)])
def test_rms_norm(rows: int, width: int) -> None:
    x, weight = normal(0, rows, width) * 30, normal(1, width)
    out = np.full((rows, width), np.nan, np.float16)
    grid = -(-rows // elementwise_op.ROWS), 1
    launch(elementwise_op.rms_norm(width), grid, x, weight, out.reshape(-1), rows, 1e-6)
    assert error(from_half(out), rms_norm_numpy(x, weight, 1e-6)) < RTOL


@pytest.mark.parametrize(("rows", "width"), [(1, 64), (9, 896), (17, 40)])
def test_embedding(rows: int, width: int) -> None:
    table = rounded(normal(2, 11, width))
    ids = np.random.default_rng(3).integers(0, 11, rows).astype(np.int32)
    out = np.full((rows, width), np.nan, np.float32)
    grid = -(-rows // elementwise_op.ROWS), 1
    launch(elementwise_op.embedding(width), grid, ids, half(table), out.reshape(-1), rows)
    np.testing.assert_array_equal(out, table[ids])


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize(("normed", "biased"), [(False, True), (True, False)])
@pytest.mark.parametrize(("tokens", "heads", "kv", "dim"), [(1, 1, 1, 64), (5, 7, 2, 64), (3, 4, 2, 128)])
def test_rope(interleaved: bool, normed: bool, biased: bool, tokens: int, heads: int, kv: int, dim: int) -> None:
    rows = heads + 2 * kv
    x, bias = rounded(normal(5, tokens, rows, dim)), normal(6, rows, dim)
    centre, q_norm, k_norm = normal(10, kv, dim), normal(7, dim), normal(8, dim)
    positions = np.random.default_rng(9).integers(0, 40, tokens).astype(np.int32)
    cos, sin = rope_table(np.arange(40, dtype=np.int32), dim, 1e4)
    qkv = half(x).reshape(-1)
    tap_q, tap_k = np.full((tokens, heads, dim), np.nan, np.float32), np.full((tokens, kv, dim), np.nan, np.float32)
    kernel = elementwise_op.rope(dim, interleaved, biased, normed)
    grid = -(-tokens * rows * dim // 8 // elementwise_op.THREADS), 1
    launch(
        kernel, grid, qkv, positions, cos, sin, bias, centre, q_norm, k_norm, tap_q.reshape(-1), tap_k.reshape(-1),
        tokens, heads, kv, 1, 1e-6,
    )  # fmt: skip
    q, k, v = np.split(x + bias * biased, [heads, heads + kv], axis=1)
    if normed:
        q, k = rms_norm_numpy(q, q_norm, 1e-6), rms_norm_numpy(k, k_norm, 1e-6)
    assert error(tap_q, q) < 1e-5
    assert error(tap_k, k) < 1e-5
    q, k = (rope_numpy(part, cos[positions], sin[positions], interleaved) for part in (q, k))
    assert error(from_half(qkv).reshape(x.shape), np.concatenate([q, k - centre * biased, v], 1)) < RTOL
