"""Products of matrices that are rounded to integers: close to what they are without."""

import numpy as np
import pytest
from test_ops import normal, relative_error
from twins import int8_gemm_numpy, int8_swiglu_numpy

from winnow_cuda.ops._integers import packed, runs_here
from winnow_cuda.ops.int8_products import int8_gemm, int8_swiglu, packed_gate_up

pytestmark = pytest.mark.skipif(not runs_here(), reason="needs AVX2")


@pytest.mark.parametrize("rows", [1, 2, 6, 7, 13, 14, 15, 33, 600])
@pytest.mark.parametrize("matrix", [(3, 1), (4, 16), (1151, 896), (896, 4864), (130, 1025), (385, 576), (17, 3)])
def test_int8_gemm(rows: int, matrix: tuple[int, int]) -> None:
    a, w = normal(0, rows, matrix[1]) * 30, normal(1, *matrix)
    found = int8_gemm(a, packed(w))
    assert found.shape == (rows, matrix[0])
    assert relative_error(found, int8_gemm_numpy(a, w)) < 0.012
    np.testing.assert_array_equal(int8_gemm(a, packed(w), threads=3), found)


@pytest.mark.parametrize("rows", [1, 13, 15, 300])
@pytest.mark.parametrize("matrix", [(2, 5), (34, 48), (9728, 896), (3072, 576)])
def test_int8_swiglu(rows: int, matrix: tuple[int, int]) -> None:
    a, w = normal(6, rows, matrix[1]), normal(7, *matrix) * 0.1
    columns, weights = matrix[0] // 2, packed_gate_up(w)
    found = int8_swiglu(a, weights, columns)
    assert found.shape == (rows, columns)
    assert relative_error(found, int8_swiglu_numpy(a, w)) < 0.02
    np.testing.assert_array_equal(int8_swiglu(a, weights, columns, threads=3), found)


def test_the_largest_sums_do_not_overflow() -> None:
    a, w = np.full((3, 1024), 7.0, np.float32), np.full((5, 1024), -3.0, np.float32)
    np.testing.assert_allclose(int8_gemm(a, packed(w)), int8_gemm_numpy(a, w), rtol=1e-5)


def test_rows_of_zeros_and_single_large_values() -> None:
    a, w = normal(2, 4, 900), normal(3, 64, 900)
    a[1] = 0
    a[2, 5] = 3000.0
    found, expected = int8_gemm(a, packed(w)), int8_gemm_numpy(a, w)
    assert not found[1].any()
    assert relative_error(found[[0, 3]], expected[[0, 3]]) < 0.012
    assert relative_error(found[2], expected[2]) < 0.012  # steps are wide beside 3,000, in its chunk alone


def test_a_row_does_not_depend_on_the_others() -> None:
    a, w = normal(4, 40, 200), packed(normal(5, 400, 200))
    found = int8_gemm(a, w)
    for row in (0, 3, 13, 14, 39):
        np.testing.assert_array_equal(found[row : row + 1], int8_gemm(a[row : row + 1], w))
