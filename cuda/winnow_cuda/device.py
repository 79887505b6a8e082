"""The CUDA device: whether there is a usable one, its memory, and how kernels are launched on it.

Everything runs on the legacy default stream, so launches and copies happen in the order of their calls. Only
one thread may use a `Device` at a time: take its `lock` where several share it.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import importlib.util
import logging
import threading
import weakref
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

if TYPE_CHECKING:  # it needs numba-cuda, without which this module must say so
    from winnow_cuda.compiler.kernel import Kernel

LEAST_CAPABILITY = (8, 0)
_SPARE_BYTES = 1 << 20  # an allocation by the driver takes up to 1 ms; a question needs a dozen small ones
_CTYPES = {"i32": ctypes.c_int32, "f32": ctypes.c_float}

_log = logging.getLogger(__name__)
_opening = threading.Lock()


class DeviceError(Exception):
    """The driver refused a call; the message names the call and the error."""


class OutOfDeviceMemoryError(DeviceError):
    """The device has too little free memory."""


@dataclass(frozen=True, slots=True)
class Availability:
    """True if the GPU backend can run here, with a reason that can be shown to the user."""

    usable: bool
    reason: str


def availability() -> Availability:
    """Look for driver, device of capability 8.0 or later, and last numba-cuda (0.3 s). Never raises."""
    if importlib.util.find_spec("cuda") is None:
        return Availability(False, "the extra 'cuda' is not installed (No module named 'cuda')")
    try:
        device = open_device()
    except DeviceError as error:
        return Availability(False, f"no CUDA device: {error}")
    if device.capability < LEAST_CAPABILITY:
        return Availability(False, f"{device.name} is older than compute capability 8.0, which the kernels need")
    try:
        importlib.import_module("winnow_cuda.compiler.kernel")
    except ImportError as error:
        return Availability(False, f"the extra 'cuda' is not installed ({error})")
    except Exception as error:  # an incompatible NumPy or toolkit can raise anything
        return Availability(False, f"numba-cuda does not load: {error}")
    major, minor = device.capability
    return Availability(True, f"{device.name}, {device.memory >> 30} GiB, compute capability {major}.{minor}")


class DeviceArray:
    """An array in device memory, freed with its last reference. C order."""

    def __init__(self, pointer: int, shape: tuple[int, ...], dtype: np.dtype[Any], owner: Any) -> None:
        self.pointer, self.shape, self.dtype, self._owner = pointer, shape, dtype, owner

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return int(np.prod(self.shape)) * self.dtype.itemsize

    def rows(self, start: int, stop: int) -> DeviceArray:
        """A view of rows start:stop."""
        row = self.bytes // max(self.shape[0], 1)
        return DeviceArray(self.pointer + start * row, (stop - start, *self.shape[1:]), self.dtype, self._owner)

    def offset(self, elements: int) -> DeviceArray:
        """The array from element `elements` on, for kernels that stride over it themselves."""
        left = int(np.prod(self.shape)) - elements
        return DeviceArray(self.pointer + elements * self.dtype.itemsize, (left,), self.dtype, self._owner)


class Binaries(Protocol):
    """Compiled kernels by name, as in a dictionary. One that cannot be kept may be missing."""

    def get(self, name: str, /) -> bytes | None:
        """A kernel's code, None if it is missing."""

    def __setitem__(self, name: str, binary: bytes, /) -> None: ...


class _Allocation:
    """Frees device memory when the last array on it goes."""


class Device:
    """The first CUDA device, by its primary context."""

    def __init__(self, driver: Any) -> None:
        self._driver, self.lock = driver, threading.RLock()
        self._functions: dict[tuple[Any, ...], Any] = {}
        self._spare: dict[int, list[int]] = defaultdict(list)  # freed small allocations by size
        self.binaries: Binaries = {}
        handle = self.call("cuDeviceGet", 0)
        self._context = self.call("cuDevicePrimaryCtxRetain", handle)
        attribute = driver.CUdevice_attribute

        def ask(name: str) -> int:
            return int(self.call("cuDeviceGetAttribute", getattr(attribute, f"CU_DEVICE_ATTRIBUTE_{name}"), handle))

        self.capability = ask("COMPUTE_CAPABILITY_MAJOR"), ask("COMPUTE_CAPABILITY_MINOR")
        self.name = self.call("cuDeviceGetName", 256, handle).split(b"\0")[0].decode()
        self.memory = int(self.call("cuDeviceTotalMem", handle))

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function of the driver and return its results. DeviceError if it refuses."""
        code, *results = getattr(self._driver, name)(*arguments)
        if int(code):
            kind = OutOfDeviceMemoryError if int(code) == 2 else DeviceError
            raise kind(f"{name}: {getattr(code, 'name', code)}")
        return results[0] if len(results) == 1 else results

    def activate(self) -> None:
        """Make this device current in the calling thread. Call it before anything else there."""
        self.call("cuCtxSetCurrent", self._context)

    def free_memory(self) -> int:
        """Bytes free now."""
        return int(self.call("cuMemGetInfo")[0])

    def empty(self, shape: Sequence[int], dtype: DTypeLike) -> DeviceArray:
        """An uninitialised array. OutOfDeviceMemoryError."""
        kind, size = np.dtype(dtype), tuple(map(int, shape))
        needed = int(np.prod(size)) * kind.itemsize
        # Small arrays share a few sizes, so that freed ones can be reused.
        held = needed if needed > _SPARE_BYTES else 1 << max(needed - 1, 15).bit_length()
        spare = self._spare[held]
        pointer = spare.pop() if spare else int(self.call("cuMemAlloc", held))
        owner = _Allocation()
        weakref.finalize(owner, self._free, pointer, held).atexit = False
        return DeviceArray(pointer, size, kind, owner)

    def _free(self, pointer: int, held: int) -> None:
        # Runs in the thread that dropped the last reference, which may never have used the device.
        if held <= _SPARE_BYTES:
            self._spare[held].append(pointer)  # work still running on it is ordered before that of the next owner
            return
        self._driver.cuCtxSetCurrent(self._context)
        self._driver.cuMemFree(pointer)

    def upload(self, array: NDArray[Any]) -> DeviceArray:
        """A copy of a host array on the device."""
        held = self.empty(array.shape, array.dtype)
        self.write(held, array)
        return held

    def write(self, target: DeviceArray, array: NDArray[Any]) -> None:
        """Copy a host array over the first bytes of a device array."""
        source = np.ascontiguousarray(array)
        assert source.nbytes <= target.bytes
        if source.nbytes:
            self.call("cuMemcpyHtoD", target.pointer, source.ctypes.data, source.nbytes)

    def download(self, array: DeviceArray) -> NDArray[Any]:
        """A copy of a device array on the host; waits for the work before it."""
        found = np.empty(array.shape, array.dtype)
        if found.nbytes:
            self.call("cuMemcpyDtoH", found.ctypes.data, array.pointer, found.nbytes)
        return found

    def copy(self, target: DeviceArray, source: DeviceArray) -> None:
        """Copy a device array over the first bytes of another."""
        assert source.bytes <= target.bytes
        self.call("cuMemcpyDtoD", target.pointer, source.pointer, source.bytes)

    def fill(self, array: DeviceArray, byte: int) -> None:
        """Set every byte."""
        self.call("cuMemsetD8", array.pointer, byte, array.bytes)

    def launch(self, kernel: Kernel, grid: tuple[int, int], *arguments: Any) -> None:
        """Start a kernel over a grid and return before it has run. Arrays are passed as pointers."""
        if grid[0] == 0 or grid[1] == 0:
            return
        values = tuple(a.pointer if isinstance(a, DeviceArray) else a for a in arguments)
        kinds = tuple(_CTYPES.get(p, ctypes.c_void_p) for p in kernel.parameters)
        function = self._function(kernel)
        self.call(
            "cuLaunchKernel", function, *grid, 1, kernel.threads, 1, 1, kernel.shared_bytes, 0, (values, kinds), 0
        )

    def _function(self, kernel: Kernel) -> Any:
        key = kernel.name, kernel.constants
        if key not in self._functions:
            module = self.call("cuModuleLoadData", self._cubin(kernel))
            function = self.call("cuModuleGetFunction", module, kernel.name.encode())
            if kernel.shared_bytes > 48 << 10:
                attribute = self._driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                self.call("cuFuncSetAttribute", function, attribute, kernel.shared_bytes)
            self._functions[key] = function
        return self._functions[key]

    def _cubin(self, kernel: Kernel) -> bytes:
        from winnow_cuda.compiler.kernel import compile_kernel

        name = binary_name(kernel, self.capability)
        binary = self.binaries.get(name)
        if binary is None:
            _log.info("compiling %s for the GPU", kernel.name)
            binary, _ = compile_kernel(kernel, self.capability)
            self.binaries[name] = binary
        return binary


@cache
def _sources() -> bytes:
    folders = [Path(__file__).parent / "compiler", Path(__file__).parent / "ops" / "gpu"]
    return b"".join(path.read_bytes() for folder in folders for path in sorted(folder.glob("*.py")))


def binary_name(kernel: Kernel, capability: tuple[int, int]) -> str:
    """The name of a compiled kernel, which depends on its source, constants and architecture."""
    text = f"{kernel.name} {kernel.constants} {capability}{kernel.suffix}".encode()
    return f"{kernel.name}-{hashlib.sha256(_sources() + text).hexdigest()[:24]}"


def open_device() -> Device:
    """The first `Device`, one per process. DeviceError if there is none."""
    with _opening:  # models load on several threads
        return _opened()


@cache
def _opened() -> Device:
    try:
        driver = importlib.import_module("cuda.bindings.driver")
        (code,) = driver.cuInit(0)
    except (ImportError, RuntimeError, OSError) as error:
        # A missing driver is a RuntimeError that tells of NVIDIA's search for it; most machines have none.
        raise DeviceError("no NVIDIA driver" if isinstance(error, RuntimeError) else f"no driver: {error}") from error
    if int(code):
        raise DeviceError(f"cuInit: {getattr(code, 'name', code)}")
    device = Device(driver)
    device.activate()
    return device
