"""Products of few rows: rounded, and close to what they are without."""

import numpy as np
import pytest
from test_ops import normal, relative_error

from winnow_cuda.ops.few_rows import few_rows, few_rows_numpy, packed, runs_here

pytestmark = pytest.mark.skipif(not runs_here(), reason="needs AVX2")


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 33])
@pytest.mark.parametrize("matrix", [(3, 1), (4, 16), (1151, 896), (896, 4864), (130, 1025), (385, 576)])
def test_few_rows(rows: int, matrix: tuple[int, int]) -> None:
    a, w = normal(0, rows, matrix[1]) * 30, normal(1, *matrix)
    found = few_rows(a, packed(w))
    assert found.shape == (rows, matrix[0])
    assert relative_error(found, few_rows_numpy(a, w)) < 2e-3


def test_the_largest_sums_do_not_overflow() -> None:
    a, w = np.full((3, 1024), 7.0, np.float32), np.full((5, 1024), -3.0, np.float32)
    np.testing.assert_allclose(few_rows(a, packed(w)), few_rows_numpy(a, w), rtol=1e-6)


def test_rows_of_zeros_and_single_large_values() -> None:
    a, w = normal(2, 4, 900), normal(3, 64, 900)
    a[1] = 0
    a[2, 5] = 3000.0
    found, expected = few_rows(a, packed(w)), few_rows_numpy(a, w)
    assert not found[1].any()
    assert relative_error(found[[0, 3]], expected[[0, 3]]) < 2e-3
    assert relative_error(found[2], expected[2]) < 2e-2  # beside 3,000 the steps are 1.5 wide


def test_a_row_does_not_depend_on_the_others() -> None:
    a, w = normal(4, 7, 200), packed(normal(5, 400, 200))
    np.testing.assert_array_equal(few_rows(a, w)[3:4], few_rows(a[3:4], w))
