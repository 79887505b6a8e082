"""Products with few rows on the lane simulator, against their NumPy twin."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from arrays import normal
from lanes import launch
from simulated_device import SimulatedDevice
from twins import unit_products_numpy

from winnow_cuda.gpu.products import HeldMatrix
from winnow_cuda.ops.gpu import unit_products as products_op

VECTORS = normal(13, 6, 256).astype(np.float16)


@pytest.mark.parametrize("units", [1, 17])
@pytest.mark.parametrize("count", [1, 3])
def test_unit_products(units: int, count: int) -> None:
    vectors, queries = normal(6, units, 256).astype(np.float16), normal(7, count, 256)
    out = np.full((units, count), np.nan, np.float32)
    grid = -(-units // products_op.UNITS), count
    launch(products_op.unit_products(256), grid, vectors, queries, out.reshape(-1), units)
    np.testing.assert_allclose(out.T, unit_products_numpy(vectors, queries), rtol=1e-5, atol=1e-4)


def test_a_held_matrix_is_multiplied_unless_others_use_the_device() -> None:
    device, rows = SimulatedDevice((8, 6)), normal(14, 3, 256)
    held = HeldMatrix(device, VECTORS)
    np.testing.assert_allclose(held.product(rows), unit_products_numpy(VECTORS, rows), rtol=1e-5, atol=1e-4)
    with ThreadPoolExecutor(1) as other:
        other.submit(device.lock.acquire).result()
        assert held.product(rows) is None
        other.submit(device.lock.release).result()
    assert held.product(rows) is not None
