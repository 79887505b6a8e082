"""Dense products on the device, C = epilogue(A · Wᵀ): `gemm` on any card, `gemm_hopper` where there is `wgmma`."""

from __future__ import annotations

import numpy as np

from winnow_cuda.device import Device, DeviceArray, DeviceError
from winnow_cuda.ops.gpu.gemm import COLUMNS, ROWS, Epilogue, gemm
from winnow_cuda.ops.gpu.gemm_hopper import gemm_hopper, hopper_tile_for
from winnow_cuda.ops.gpu.unit_products import UNITS, unit_products
from winnow_cuda.shapes import Float16, Float32

_HOPPER = (9, 0)


class Products:
    """Products of A float16 [M, K] and W float16 [N, K] on one device."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def project(self, a: DeviceArray, w: DeviceArray, c: DeviceArray) -> None:
        """C float16 [M, N] = A · Wᵀ."""
        self._run("half", a, w, c)

    def add(self, a: DeviceArray, w: DeviceArray, c: DeviceArray) -> None:
        """C float32 [M, N] += A · Wᵀ."""
        self._run("add", a, w, c)

    def wide(self, a: DeviceArray, w: DeviceArray, c: DeviceArray) -> None:
        """C float32 [M, N] = A · Wᵀ."""
        self._device.fill(c, 0)
        self._run("add", a, w, c)

    def swiglu(self, a: DeviceArray, w: DeviceArray, c: DeviceArray) -> None:
        """C float16 [M, F] = silu(gate) · up of A · Wᵀ, with W's 2F rows interleaved (`interleave_gate_up`)."""
        self._run("swiglu", a, w, c)

    def _run(self, kind: Epilogue, a: DeviceArray, w: DeviceArray, c: DeviceArray) -> None:
        (m, k), n = a.shape, w.shape[0]
        if self._device.capability == _HOPPER:
            tile = hopper_tile_for(m)
            kernel, columns, rows = gemm_hopper(kind, tile), tile.columns, tile.rows
        else:
            kernel, columns, rows = gemm(kind), COLUMNS, ROWS
        self._device.launch(kernel, (-(-n // columns), -(-m // rows)), a, w, c, m, n, k)


class HeldMatrix:
    """W [N, K] on a device for the host's products: 0.1 ms a row, CPU 0.6. K is a multiple of 256."""

    def __init__(self, device: Device, matrix: Float16) -> None:
        """Raises DeviceError if there is no room."""
        self._device, self._kernel = device, unit_products(matrix.shape[1])
        with device.lock:
            device.activate()
            self._matrix = device.upload(matrix)

    def product(self, rows: Float32) -> Float32 | None:
        """rows [M, K] · Wᵀ → [M, N]; None if the device is at work for others, which may take long, or fails."""
        device, count = self._device, self._matrix.shape[0]
        if not device.lock.acquire(blocking=False):
            return None
        try:
            device.activate()
            out = device.empty((count, len(rows)), np.float32)
            device.launch(self._kernel, (-(-count // UNITS), len(rows)), self._matrix, device.upload(rows), out, count)
            return np.ascontiguousarray(device.download(out).T)
        except DeviceError:
            return None
        finally:
            device.lock.release()
