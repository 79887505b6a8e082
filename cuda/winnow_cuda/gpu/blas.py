"""cuBLAS, if cupy or nvmath-python is installed: C = A · Wᵀ on device arrays, without copies."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

import numpy as np

from winnow_cuda.device import Device, DeviceArray, DeviceError

# (module of the low-level binding, name of its GemmEx, name of its create)
_BINDINGS = (
    ("nvmath.bindings.cublas", "gemm_ex", "create"),
    ("cupy_backends.cuda.libs.cublas", "gemmEx", "create"),
)
_HALF, _F32, _COMPUTE_F32, _TENSOR_OP = 2, 0, 68, 99
_TRANSPOSE, _PLAIN = 1, 0


class Cublas:
    """A cuBLAS handle on a device."""

    def __init__(self, module: Any, gemm: str, create: str, device: Device) -> None:
        device.activate()  # the handle is one of the current device, and llama.cpp leaves its last one current
        self._gemm, self._handle = getattr(module, gemm), getattr(module, create)()
        self._one, self._zero = np.ones(1, np.float32), np.zeros(1, np.float32)

    def gemm(self, a: DeviceArray, w: DeviceArray, c: DeviceArray, add: bool) -> None:
        """C (+)= A · Wᵀ: A float16 [M, K], W float16 [N, K], C float16 or float32 [M, N] by its dtype. DeviceError."""
        m, k = a.shape
        n = w.shape[0]
        beta = self._one if add else self._zero
        kind = _F32 if c.dtype == np.float32 else _HALF
        # cuBLAS counts columns first: Cᵀ = W · Aᵀ.
        try:
            self._gemm(
                self._handle, _TRANSPOSE, _PLAIN, n, m, k, self._one.ctypes.data, w.pointer, _HALF, k,
                a.pointer, _HALF, k, beta.ctypes.data, c.pointer, kind, n, _COMPUTE_F32, _TENSOR_OP,
            )  # fmt: skip
        except RuntimeError as error:
            raise DeviceError(f"cuBLAS: {error}") from error


@cache
def cublas(device: Device) -> Cublas | None:
    """The device's handle, or None where no package with cuBLAS is installed."""
    for name, gemm, create in _BINDINGS:
        try:
            return Cublas(importlib.import_module(name), gemm, create, device)
        except (ImportError, RuntimeError, OSError):
            continue
    return None
