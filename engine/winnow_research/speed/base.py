"""What every measurement of a kernel shares: random data on a device, and the error of a result."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.device import Device, DeviceArray
from winnow_cuda.shapes import Float32

TOKENS = 131072
NAN = 0xFF  # the byte of which a NaN of any width can consist
HALF = np.float16


def error_of(actual: NDArray[Any], expected: NDArray[Any]) -> float:
    """‖actual - expected‖ / ‖expected‖; NaN if anything was left unwritten."""
    wide = actual.astype(np.float64)
    return float(f"{np.linalg.norm(wide - expected) / np.linalg.norm(expected.astype(np.float64)):.1e}")


class RandomData:
    """Random data on one device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.random = np.random.default_rng(0)

    def normal(self, *shape: int) -> Float32:
        """Random float32 values that are float16."""
        return self.random.standard_normal(shape, np.float32).astype(HALF).astype(np.float32)

    def rows(self, values: Float32, count: int, dtype: type[np.floating[Any]] = HALF) -> DeviceArray:
        """A matrix of `count` rows on the device that repeats the rows of `values`."""
        held = self.device.empty((count, values.shape[1]), dtype)
        bits = values.astype(dtype)
        for start in range(0, count, len(bits)):
            self.device.write(held.rows(start, min(count, start + len(bits))), bits[: count - start])
        return held
