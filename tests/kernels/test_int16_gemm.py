"""Products of matrices that are rounded to integers: close to what they are without."""

import numpy as np
import pytest
from test_ops import normal, relative_error
from twins import int16_gemm_numpy, int16_swiglu_numpy

from winnow_cuda.ops._int16 import TILE, packed, rounded_rows, runs_here
from winnow_cuda.ops.int16_products import int16_gemm, int16_swiglu, packed_gate_up

pytestmark = pytest.mark.skipif(not runs_here(), reason="needs AVX2")


@pytest.mark.parametrize("rows", [1, 2, 6, 7, 13, 14, 15, 33, 600])
@pytest.mark.parametrize("matrix", [(3, 1), (4, 16), (1151, 896), (896, 4864), (130, 1025), (385, 576), (17, 3)])
def test_int16_gemm(rows: int, matrix: tuple[int, int]) -> None:
    a, w = normal(0, rows, matrix[1]) * 30, normal(1, *matrix)
    found = int16_gemm(a, packed(w))
    assert found.shape == (rows, matrix[0])
    assert relative_error(found, int16_gemm_numpy(a, w)) < 4e-4
    np.testing.assert_array_equal(int16_gemm(a, packed(w), threads=3), found)


@pytest.mark.parametrize("rows", [1, 13, 15, 300])
@pytest.mark.parametrize("matrix", [(2, 5), (34, 48), (9728, 896), (3072, 576)])
def test_int16_swiglu(rows: int, matrix: tuple[int, int]) -> None:
    a, w = normal(6, rows, matrix[1]), normal(7, *matrix) * 0.1
    columns, weights = matrix[0] // 2, packed_gate_up(w)
    found = int16_swiglu(a, weights, columns)
    assert found.shape == (rows, columns)
    assert relative_error(found, int16_swiglu_numpy(a, w)) < 5e-4
    np.testing.assert_array_equal(int16_swiglu(a, weights, columns, threads=3), found)


def test_the_largest_sums_do_not_overflow() -> None:
    a, w = np.full((3, 1024), 7.0, np.float32), np.full((5, 1024), -3.0, np.float32)
    np.testing.assert_allclose(int16_gemm(a, packed(w)), int16_gemm_numpy(a, w), rtol=3e-4)


@pytest.mark.parametrize("columns", [1, 2, 63, 512])
def test_codes_are_as_large_as_their_sums_allow(columns: int) -> None:
    a = normal(8, 200, columns)
    a[50:100] **= 9  # a few large values
    a[100:150] = np.sign(a[100:150]) * 1e-12
    codes = rounded_rows(a).codes.astype(np.int64).reshape(-1, -(-columns // 2), TILE, 2)  # tiles, pairs, rows
    squares, largest = (codes**2).sum((1, 3)).ravel()[:200], np.abs(codes).max((1, 3)).ravel()[:200]
    assert squares.max() < 2**31
    assert ((largest == 32_767) | (squares > 0.95 * 2**31)).all()


def test_rows_of_zeros_and_single_large_values() -> None:
    a, w = normal(2, 4, 900), normal(3, 64, 900)
    a[1] = 0
    a[2, 5] = 3000.0
    found, expected = int16_gemm(a, packed(w)), int16_gemm_numpy(a, w)
    assert not found[1].any()
    assert relative_error(found[[0, 3]], expected[[0, 3]]) < 4e-4
    assert relative_error(found[2], expected[2]) < 2e-3  # beside 3,000 the steps are 0.1 wide


def test_a_row_does_not_depend_on_the_others() -> None:
    a, w = normal(4, 40, 200), packed(normal(5, 400, 200))
    found = int16_gemm(a, w)
    for row in (0, 3, 13, 14, 39):
        np.testing.assert_array_equal(found[row : row + 1], int16_gemm(a[row : row + 1], w))
