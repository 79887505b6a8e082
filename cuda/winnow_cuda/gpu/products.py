"""Dense products on the device, C = epilogue(A · Wᵀ), by our own kernel or by cuBLAS.

Where cuBLAS is installed it computes the plain and the residual products. On Hopper the product under SwiGLU stays with
our own kernel: it saves a pass over the unactivated columns, which is worth more than cuBLAS's speed.
"""

from __future__ import annotations

from winnow_cuda.device import Device, DeviceArray
from winnow_cuda.gpu.blas import Cublas
from winnow_cuda.ops.gemm import Epilogue
from winnow_cuda.ops.gpu.gemm import Tile, gemm, tile_for
from winnow_cuda.ops.gpu.gemm_hopper import HopperTile, gemm_hopper, hopper_tile_for
from winnow_cuda.ops.gpu.swiglu import THREADS, swiglu

_HOPPER = (9, 0)


class Products:
    """Products on one device; `library` is cuBLAS, or None for our own kernels throughout."""

    def __init__(self, device: Device, library: Cublas | None) -> None:
        self._device, self._library = device, library
        self._hopper = device.capability == _HOPPER

    @property
    def needs_scratch(self) -> bool:
        """Whether `swiglu` needs room for its unactivated columns."""
        return self._library is not None and not self._hopper

    def project(self, a: DeviceArray, w: DeviceArray, c: DeviceArray) -> None:
        """C float16 [M, N] = A float16 [M, K] · W float16 [N, K]ᵀ."""
        if self._library is not None:
            self._library.gemm(a, w, c, add=False)
        else:
            self._own("half", a, w, c)

    def add(self, a: DeviceArray, w: DeviceArray, c: DeviceArray) -> None:
        """C float32 [M, N] += A · Wᵀ."""
        if self._library is not None:
            self._library.gemm(a, w, c, add=True)
        else:
            self._own("add", a, w, c)

    def wide(self, a: DeviceArray, w: DeviceArray, c: DeviceArray) -> None:
        """C float32 [M, N] = A · Wᵀ."""
        if self._library is not None:
            self._library.gemm(a, w, c, add=False)
        else:
            self._device.fill(c, 0)
            self._own("add", a, w, c)

    def swiglu(self, a: DeviceArray, w: DeviceArray, c: DeviceArray, scratch: DeviceArray | None) -> None:
        """C float16 [M, F] = silu(gate) · up of A · Wᵀ, with W's 2F rows interleaved (`interleave_gate_up`)."""
        if scratch is None:
            self._own("swiglu", a, w, c)
            return
        assert self._library is not None
        self._library.gemm(a, w, scratch, add=False)
        count = c.shape[0] * c.shape[1] // 8
        self._device.launch(swiglu(), (-(-count // THREADS), 1), scratch, c, count)

    def _own(self, kind: Epilogue, a: DeviceArray, w: DeviceArray, c: DeviceArray) -> None:
        (m, k), n = a.shape, w.shape[0]
        tile: HopperTile | Tile
        if self._hopper:
            tile = hopper_tile_for(m)
            kernel = gemm_hopper(kind, tile)
        else:
            tile = tile_for(self._device.shared_limit)
            kernel = gemm(kind, tile)
        grid = -(-n // tile.columns), -(-m // tile.rows)
        self._device.launch(kernel, grid, a, w, c, m, n, k)
