"""One measured figure."""

from __future__ import annotations

from dataclasses import dataclass


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
