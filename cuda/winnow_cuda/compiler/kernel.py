"""A kernel and its way to machine code: Numba → PTX → cubin, with or without a device.

No kernel is compiled by numba-cuda's own launcher: going through PTX here gives the same code to tests without a
device and to `winnow_cuda.device`, lets sm_90a be asked for, and launches in a tenth of the time.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from cuda.bindings import nvjitlink
from numba import cuda, types

Capability = tuple[int, int]

# PTX is forward compatible: one PTX serves every architecture, assembled for each. Nor may it be newer than sm_90:
# from sm_100 on libnvvm takes another LLVM, which leaves our fragment loops rolled and their arrays in local memory.
_BASELINE = (8, 0)

POINTERS = {
    "i8*": types.CPointer(types.int8),
    "u16*": types.CPointer(types.uint16),
    "u32*": types.CPointer(types.uint32),
    "i32*": types.CPointer(types.int32),
    "f32*": types.CPointer(types.float32),
    "i32": types.int32,
    "f32": types.float32,
}


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel's source and launch bounds.

    `body` is a Python function of `parameters`, names in POINTERS. It is compiled for exactly `threads` threads a block
    and for at least `blocks_per_sm` blocks a multiprocessor, which caps its registers. `shared_bytes` is its dynamic
    shared memory. `suffix` is "a" where it uses instructions of one architecture only. `constants` are what the body
    was built from: kernels with the same name and constants are the same kernel.
    """

    name: str
    body: Callable[..., None]
    parameters: tuple[str, ...]
    threads: int
    blocks_per_sm: int = 1
    shared_bytes: int = 0
    suffix: str = ""
    constants: tuple[object, ...] = ()


def compile_kernel(kernel: Kernel, capability: Capability) -> tuple[bytes, str]:
    """Compile without a device in 0.2–5 s → cubin, whose entry has the kernel's name, and the log."""
    arch = f"sm_{capability[0]}{capability[1]}{kernel.suffix}"
    return _link(_ptx(kernel, (*capability, kernel.suffix) if kernel.suffix else _BASELINE), arch)


@cache
def _ptx(kernel: Kernel, target: tuple[int | str, ...]) -> str:
    ptx, _ = cuda.compile(
        kernel.body,
        types.void(*(POINTERS[p] for p in kernel.parameters)),
        cc=target,
        device=False,
        abi="numba",
        fastmath=True,
        launch_bounds=(kernel.threads, kernel.blocks_per_sm),
        output="ptx",
    )
    entry = re.search(r"\.entry (\w+)\(", ptx)
    assert entry
    return str(ptx).replace(entry[1], kernel.name)


def _link(ptx: str, arch: str) -> tuple[bytes, str]:
    options = [f"-arch={arch}", "-Xptxas=-v", "-verbose"]
    handle = nvjitlink.create(len(options), options)
    try:
        source = ptx.encode()
        nvjitlink.add_data(handle, nvjitlink.InputType.PTX, source, len(source), "kernel")
        nvjitlink.complete(handle)
        cubin = bytearray(nvjitlink.get_linked_cubin_size(handle))
        nvjitlink.get_linked_cubin(handle, cubin)
        log = bytearray(nvjitlink.get_info_log_size(handle))
        nvjitlink.get_info_log(handle, log)
    finally:
        nvjitlink.destroy(handle)
    return bytes(cubin), log.decode()
