"""Measurements of kernels: random data on a device, its time, and the error of a result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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


def seconds_of(device: Device, work: Callable[[], object]) -> float:
    """The median time of ten that the device takes for what `work` launches, after two warm-ups."""
    start, stop = (device.call("cuEventCreate", 0) for _ in range(2))
    taken = []
    for _ in range(12):
        device.call("cuEventRecord", start, 0)
        work()
        device.call("cuEventRecord", stop, 0)
        device.call("cuEventSynchronize", stop)
        taken.append(float(device.call("cuEventElapsedTime", start, stop)) / 1e3)
    for event in (start, stop):
        device.call("cuEventDestroy", event)
    return float(np.median(taken[2:]))


@dataclass(frozen=True, slots=True)
class SpeedFigure:
    """One kernel at one size: its time, what it computed and moved, and its error (None where none was taken)."""

    kernel: str
    size: str
    milliseconds: float
    tflops: float
    gigabytes_per_s: float
    error: float | None


def figure_of(kernel: str, size: str, seconds: float, flops: float, bytes_: float, error: float | None) -> SpeedFigure:
    """The figure of one run: seconds, floating-point operations and bytes moved through device memory."""
    return SpeedFigure(
        kernel, size, round(seconds * 1e3, 4), round(flops / seconds / 1e12, 1), round(bytes_ / seconds / 1e9), error
    )
