"""A stand-in for `winnow_cuda.device.Device` whose memory is NumPy's and whose kernels run on the lane simulator."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from lanes import launch

from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.device import DeviceArray, OutOfDeviceMemoryError

DTYPES = {"i8*": "i1", "u16*": "u2", "u32*": "u4", "i32*": "i4", "f32*": "f4"}


class SimulatedDevice:
    """`limit` bytes of memory; every array starts as NaN."""

    def __init__(self, capability: tuple[int, int], limit: int = 1 << 30) -> None:
        self.capability, self.lock, self.shared_limit = capability, threading.RLock(), 99 << 10
        self.launched: list[str] = []
        self._limit, self._next, self._held = limit, 1 << 20, {}

    def activate(self) -> None:
        pass

    def empty(self, shape: Sequence[int], dtype: Any) -> DeviceArray:
        kind = np.dtype(dtype)
        size = max(int(np.prod(shape)) * kind.itemsize, 16)
        if size > self._limit:
            raise OutOfDeviceMemoryError("simulated")
        self._held[self._next] = np.full(-(-size // 16) * 16, 0xFF, np.uint8)
        pointer, self._next = self._next, self._next + (size + 4095) // 4096 * 4096
        return DeviceArray(pointer, tuple(shape), kind, None)

    def upload(self, array: np.ndarray) -> DeviceArray:
        held = self.empty(array.shape, array.dtype)
        self.write(held, array)
        return held

    def write(self, target: DeviceArray, array: np.ndarray) -> None:
        data = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
        self._bytes(target.pointer)[: data.size] = data

    def copy(self, target: DeviceArray, source: DeviceArray) -> None:
        self._bytes(target.pointer)[: source.bytes] = self._bytes(source.pointer)[: source.bytes]

    def download(self, array: DeviceArray) -> np.ndarray:
        return self._bytes(array.pointer)[: array.bytes].view(array.dtype).reshape(array.shape).copy()

    def fill(self, array: DeviceArray, byte: int) -> None:
        self._bytes(array.pointer)[: array.bytes] = byte

    def call(self, name: str, *arguments: Any) -> float:
        assert name.startswith("cuEvent"), "only clocks are simulated"
        return 1.0

    def launch(self, kernel: Kernel, grid: tuple[int, int], *arguments: Any) -> None:
        if 0 in grid:
            return
        self.launched.append(kernel.name)
        values = [
            self._bytes(a.pointer).view(DTYPES[kind]) if isinstance(a, DeviceArray) else a
            for a, kind in zip(arguments, kernel.parameters, strict=True)
        ]
        launch(kernel, grid, *values)

    def _bytes(self, pointer: int) -> np.ndarray:
        """Memory from `pointer` to the end of its allocation."""
        start = max(base for base in self._held if base <= pointer)
        return self._held[start][pointer - start :]
