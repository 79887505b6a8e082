"""The kernels that read keys off hidden states, on the lane simulator, against their NumPy twins."""

import numpy as np
import pytest
from arrays import normal
from lanes import launch
from twins import pool_runs_numpy, quantise_keys_numpy, standardise_numpy

from winnow_cuda.ops.gpu import elementwise as elementwise_op
from winnow_cuda.ops.gpu import readout as readout_op


@pytest.mark.parametrize(("rows", "width"), [(1, 64), (9, 896), (17, 100)])
def test_standardise(rows: int, width: int) -> None:
    x, mean, deviation = normal(0, rows, width) * 30, normal(1, width), 0.3 + np.abs(normal(2, width))
    out = np.full((rows, width), np.nan, np.float16)
    grid = -(-rows // elementwise_op.ROWS), 1
    launch(elementwise_op.standardise(width), grid, x, mean, 1 / deviation, out.reshape(-1), rows)
    expected = standardise_numpy(x, mean, deviation)
    np.testing.assert_allclose(out.astype(np.float32), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(("rows", "stride"), [(1, 64), (17, 80), (32, 80)])
def test_quantise_keys(rows: int, stride: int) -> None:
    x = normal(3, rows, stride)
    x[rows // 2] = 0
    codes, scales = np.full((rows, 16), 0xABABABAB, np.uint32), np.full(rows, np.nan, np.float32)
    grid = -(-rows // readout_op.ROWS), 1
    launch(readout_op.quantise_keys(stride), grid, x, codes.reshape(-1), scales, rows)
    expected_codes, expected_scales = quantise_keys_numpy(x[:, :64])
    assert np.abs(codes.view(np.int8) - expected_codes.astype(int)).max() <= 1  # a tie may round either way
    np.testing.assert_allclose(scales, expected_scales, rtol=1e-5)


@pytest.mark.parametrize("runs", [[(0, 1)], [(2, 2), (0, 5), (7, 8)], [(1, 9), (9, 40)]])
def test_pool_runs(runs: list[tuple[int, int]]) -> None:
    y, borders = normal(4, 40, 272) * 5, np.array(runs, np.int32)
    out = np.full((len(runs), 256), np.nan, np.float32)
    launch(readout_op.pool_runs(272), (len(runs), 1), y, borders, out.reshape(-1))
    np.testing.assert_allclose(out, pool_runs_numpy(y[:, :256], y[:, 256], borders), rtol=1e-4, atol=1e-5)
