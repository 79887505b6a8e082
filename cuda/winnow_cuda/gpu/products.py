"""Dense products on the device, C = epilogue(A · Wᵀ): `gemm` on any card, `gemm_hopper` where there is `wgmma`."""

from __future__ import annotations

from winnow_cuda.device import Device, DeviceArray
from winnow_cuda.ops.gpu.gemm import Epilogue, Tile, gemm
from winnow_cuda.ops.gpu.gemm_hopper import HopperTile, gemm_hopper, hopper_tile_for

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
        tile: HopperTile | Tile
        if self._device.capability == _HOPPER:
            tile = hopper_tile_for(m)
            kernel = gemm_hopper(kind, tile)
        else:
            tile = Tile()
            kernel = gemm(kind, tile)
        grid = -(-n // tile.columns), -(-m // tile.rows)
        self._device.launch(kernel, grid, a, w, c, m, n, k)
