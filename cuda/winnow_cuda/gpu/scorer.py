"""Scoring on the device. Keys stay there between questions; if they do not fit, they pass through it in pieces."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.device import Device, DeviceArray, OutOfDeviceMemoryError
from winnow_cuda.ops.gpu import scoring as scoring_op
from winnow_cuda.ops.scoring import NOTHING
from winnow_cuda.shapes import Float16, Float32, Int8, Int64, rows_of, runs_between

PIECE_BYTES = 64 << 20  # takes some milliseconds over PCIe, and the kernel a hundredth of that
Launch = Callable[[list[DeviceArray], DeviceArray, int], list[DeviceArray]]
"""(keys, runs int32 [U, 2], U) → the kernel's outputs, with units along the first axis."""


class GpuScorer:
    """The scoring ops on one device; see `Scorer`."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._held: dict[int, DeviceArray] = {}

    def maxsim(self, codes: Int8, scales: Float16, runs: Int64, queries: Float32, weights: Float32) -> Float32:
        """See `ops/scoring.py`. If the device cannot hold all keys, it gets those of the runs."""
        halves, shares = scoring_op.split_maxsim_queries(queries, weights)
        count, blocks = len(shares), len(shares) // scoring_op.MAXSIM_QUERIES

        def launch(held: list[DeviceArray], where: DeviceArray, units: int) -> list[DeviceArray]:
            out = self._device.empty((units, blocks), np.float32)
            grid = units, blocks
            self._device.launch(scoring_op.maxsim(), grid, *held, where, *question, out, units, count)
            return [out]

        with self._device.lock:
            self._device.activate()
            question = self._device.upload(halves), self._device.upload(shares)
            (found,) = self._over_units([codes, scales], runs, launch)
        return np.where(runs[:, 1] > runs[:, 0], found.sum(1), NOTHING)

    def unit_mass(self, codes: Int8, scales: Float16, offsets: Int64, queries: Float32) -> tuple[Float32, Float32]:
        """See `ops/scoring.py`."""
        halves, factors = scoring_op.split_mass_queries(queries)
        count, kernel = len(factors), scoring_op.unit_mass(queries.shape[1])

        def launch(held: list[DeviceArray], where: DeviceArray, units: int) -> list[DeviceArray]:
            out = [self._device.empty((units, count), np.float32) for _ in range(2)]
            grid = units, count // scoring_op.MASS_QUERIES
            self._device.launch(kernel, grid, *held, where, *question, *out, count)
            return out

        with self._device.lock:
            self._device.activate()
            question = self._device.upload(halves), self._device.upload(factors)
            mass, peak = self._over_units([codes, scales], runs_between(offsets), launch)
        return mass[:, : len(queries)], peak[:, : len(queries)]

    def unit_products(self, vectors: Float16, queries: Float32) -> Float32:
        """See `ops/scoring.py`."""

        def launch(held: list[DeviceArray], where: DeviceArray, units: int) -> list[DeviceArray]:
            out = self._device.empty((units, len(queries)), np.float32)
            grid = -(-units // scoring_op.UNITS), len(queries)
            self._device.launch(scoring_op.unit_products(queries.shape[1]), grid, *held, asked, out, units)
            return [out]

        with self._device.lock:
            self._device.activate()
            asked = self._device.upload(queries)
            (found,) = self._over_units([vectors], runs_between(np.arange(len(vectors) + 1)), launch)
        return np.ascontiguousarray(found.T)

    def _over_units(self, keys: Sequence[NDArray[Any]], runs: Int64, launch: Launch) -> list[Float32]:
        """Run `launch` over units, of which u is rows runs[u, 0]:runs[u, 1] of each array of keys."""
        try:
            return self._run([self._hold(array) for array in keys], runs, launch)
        except OutOfDeviceMemoryError:
            self._held.clear()
        offsets = np.concatenate([[0], np.cumsum(runs[:, 1] - runs[:, 0])])
        parts = [
            self._run(
                [self._device.upload(_rows(array, runs[a:b])) for array in keys],
                runs_between(offsets[a : b + 1] - offsets[a]),
                launch,
            )
            for a, b in _pieces(offsets, sum(array[:1].nbytes for array in keys))
        ]
        return [np.concatenate(columns) for columns in zip(*parts, strict=True)]

    def _run(self, keys: list[DeviceArray], runs: Int64, launch: Launch) -> list[Float32]:
        where = self._device.upload(runs.astype(np.int32))
        return [self._device.download(found) for found in launch(keys, where, len(runs))]

    def _hold(self, array: NDArray[Any]) -> DeviceArray:
        """The array on the device, where it stays until the host's array is freed."""
        if id(array) not in self._held:
            self._held[id(array)] = self._device.upload(array)
            weakref.finalize(array, self._held.pop, id(array), None).atexit = False
        return self._held[id(array)]


def _rows(array: NDArray[Any], runs: Int64) -> NDArray[Any]:
    """The rows of all runs in turn."""
    follows = (runs[1:, 0] == runs[:-1, 1]).all()
    return array[runs[0, 0] : runs[-1, 1]] if follows else array[rows_of(runs)]


def _pieces(offsets: Int64, row_bytes: int) -> Iterator[tuple[int, int]]:
    """Ranges of units of about PIECE_BYTES of keys each; at least one unit."""
    rows, first, last = max(PIECE_BYTES // row_bytes, 1), 0, len(offsets) - 1
    while first < last:
        stop = max(int(np.searchsorted(offsets, offsets[first] + rows, side="right")) - 1, first + 1)
        yield first, stop
        first = stop
