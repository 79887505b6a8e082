"""The tensor-core products, on the lane simulator, against their NumPy twin."""

import numpy as np
import pytest
from lanes import from_half, half, launch
from twins import gemm_numpy

from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.ops.gpu.gemm import EPILOGUES, Epilogue, gemm, interleave_gate_up
from winnow_cuda.ops.gpu.gemm_hopper import NARROW, TALL, HopperTile, gemm_hopper

RTOL = {"half": 4e-4, "add": 1e-6, "swiglu": 4e-4}  # float16 rounds the result, relative 2^-12


def check(kernel: Kernel, tile: tuple[int, int], kind: Epilogue, m: int, n: int, k: int) -> None:
    random = np.random.default_rng(m * n + k)
    a, w = (from_half(half(random.standard_normal(shape, np.float32))) for shape in ((m, k), (n, k)))
    before = random.standard_normal((m, n)).astype(np.float32)
    if kind == "swiglu":
        w = interleave_gate_up(w * 0.2)
    width = n // 2 if kind == "swiglu" else n
    c = before.copy() if kind == "add" else np.full((m, width), np.nan, np.float16)
    flat = c.reshape(-1)
    grid = -(-n // tile[1]), -(-m // tile[0])
    launch(kernel, grid, half(a), half(w), flat.view(np.uint32), m, n, k)
    actual = c if kind == "add" else from_half(c)
    expected = gemm_numpy(kind, a, from_half(half(w)), before)
    assert np.isfinite(actual).all()
    assert np.linalg.norm(actual - expected) / np.linalg.norm(expected) < RTOL[kind]


@pytest.mark.parametrize("kind", EPILOGUES)
@pytest.mark.parametrize(("m", "n", "k"), [(1, 16, 64), (130, 144, 192), (77, 272, 128)])
def test_gemm(kind: Epilogue, m: int, n: int, k: int) -> None:
    check(gemm(kind), (128, 128), kind, m, n, k)


@pytest.mark.parametrize("kind", EPILOGUES)
@pytest.mark.parametrize("tile", [TALL, NARROW], ids=["tall", "narrow"])
def test_gemm_hopper(kind: Epilogue, tile: HopperTile) -> None:
    check(gemm_hopper(kind, tile), (tile.rows, tile.columns), kind, 130, 272, 448)
