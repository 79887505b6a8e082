"""Dense products on the device, C = epilogue(A · Wᵀ): `gemm` on any card, `gemm_hopper` where there is `wgmma`."""

from __future__ import annotations

from winnow_cuda.device import Device, DeviceArray
from winnow_cuda.ops.gemm import Epilogue
from winnow_cuda.ops.gpu.gemm import COLUMNS, ROWS, gemm
from winnow_cuda.ops.gpu.gemm_hopper import HOPPER_COLUMNS, HOPPER_ROWS, gemm_hopper

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
            kernel, rows, columns = gemm_hopper(kind), HOPPER_ROWS, HOPPER_COLUMNS
        else:
            kernel, rows, columns = gemm(kind), ROWS, COLUMNS
        self._device.launch(kernel, (-(-n // columns), -(-m // rows)), a, w, c, m, n, k)
