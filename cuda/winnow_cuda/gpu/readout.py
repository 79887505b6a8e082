"""A readout on the device: standardise, one product per head, then codes by token and sums by run."""

from __future__ import annotations

import numpy as np

from winnow_cuda.device import Device, DeviceArray
from winnow_cuda.gpu.products import Products
from winnow_cuda.ops.gpu import elementwise as elementwise_op
from winnow_cuda.ops.gpu import readout as readout_op
from winnow_cuda.shapes import Int32, KeyHead, Keys, Readout, rows_of

_COLUMNS = 16  # products come in multiples of this many columns


class DeviceHead:
    """A `KeyHead` on the device, its matrix float16 with rows of zeros up to a multiple of _COLUMNS."""

    def __init__(self, device: Device, products: Products, head: KeyHead) -> None:
        """OutOfDeviceMemoryError."""
        self._device, self._products, self.columns = device, products, len(head.matrix)
        padded = np.pad(head.matrix, ((0, -self.columns % _COLUMNS), (0, 0)))
        self._matrix, self._mean = device.upload(padded.astype(np.float16)), device.upload(head.mean)
        self._inverse = device.upload(np.asarray(1 / head.deviation, np.float32))

    def read(self, x: DeviceArray, normed: DeviceArray) -> DeviceArray:
        """The head's columns of x, float32 [T, width], then zeros, without waiting. `normed`, float16, is scratch."""
        tokens, width = x.shape
        grid = -(-tokens // elementwise_op.ROWS), 1
        self._device.launch(elementwise_op.standardise(width), grid, x, self._mean, self._inverse, normed, tokens)
        found = self._device.empty((tokens, self._matrix.shape[0]), np.float32)
        self._products.wide(normed, self._matrix, found)
        return found


class DeviceReadout:
    """A readout's weights on the device."""

    def __init__(self, device: Device, products: Products, readout: Readout) -> None:
        """OutOfDeviceMemoryError."""
        self._device = device
        self._token, self._unit = (DeviceHead(device, products, head) for head in (readout.token, readout.unit))

    def keys(self, x: DeviceArray, normed: DeviceArray, runs: Int32) -> Keys:
        """The keys of x, float32 [T, width]. `normed`, float16 of the same shape, is scratch."""
        parts, first_parts = _split(runs)
        device, tokens, rows, download = self._device, x.shape[0], rows_of(runs), self._device.download
        codes, scales = device.empty((tokens, readout_op.KEY_COLUMNS), np.int8), device.empty((tokens,), np.float32)
        sums = device.empty((len(parts), readout_op.UNIT_COLUMNS), np.float32)
        keys = self._token.read(x, normed)
        kernel = readout_op.quantise_keys(keys.shape[1])
        device.launch(kernel, (-(-tokens // readout_op.ROWS), 1), keys, codes, scales, tokens)
        shares = self._unit.read(x, normed)
        device.launch(readout_op.pool_runs(shares.shape[1]), (len(parts), 1), shares, device.upload(parts), sums)
        by_run = np.add.reduceat(download(sums), first_parts, axis=0) if len(runs) else download(sums)
        return Keys(download(codes)[rows], download(scales)[rows], by_run)


def _split(runs: Int32) -> tuple[Int32, Int32]:
    """Runs cut into parts of at most MOST_ROWS rows, int32 [parts, 2], and the number of each run's first part."""
    counts = np.maximum(-(-(runs[:, 1] - runs[:, 0]) // readout_op.MOST_ROWS), 1)
    first = np.cumsum([0, *counts])
    run = np.repeat(np.arange(len(runs)), counts)
    start = runs[run, 0] + (np.arange(first[-1]) - first[run]) * readout_op.MOST_ROWS
    parts = np.stack([start, np.minimum(start + readout_op.MOST_ROWS, runs[run, 1])], 1)
    return parts.astype(np.int32), first[:-1].astype(np.int32)


def joined_keys(parts: list[Keys]) -> Keys:
    """The keys of several calls as if they came from one."""
    return Keys(
        np.concatenate([part.codes for part in parts]),
        np.concatenate([part.scales for part in parts]),
        np.concatenate([part.sums for part in parts]),
    )
