"""Runs a kernel's unchanged Python source without a device: a NumPy vector over the block's threads for each scalar.

What it finds that a plain reference cannot: reads of shared memory nothing has written (it starts as NaN), of copies
not waited for, of products not waited for, of accumulators before their wait, and addresses outside every argument.
Kernels must branch and loop on values equal in all threads; per-thread choices go through `cuda.selp`, `load_if` and
`store_if`. Blocks run one after another, so races between blocks are not found.
"""

from __future__ import annotations

import builtins
import itertools
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba.core import types as numba_types

from winnow_cuda.compiler import intrinsics
from winnow_cuda.compiler.kernel import Kernel

U32, I32, F32, U64, I64 = np.uint32, np.int32, np.float32, np.uint64, np.int64
POISON = 0xFF  # as float16 and float32: NaN


def half(x: np.ndarray) -> np.ndarray:
    """float32 → the nearest float16, saturating."""
    return np.clip(x, -65504, 65504).astype(np.float16)


def from_half(bits: np.ndarray) -> np.ndarray:
    """float16, or its bits as uint16 → float32."""
    return np.ascontiguousarray(bits).view(np.float16).astype(F32)


def launch(kernel: Kernel, grid: tuple[int, int], *arguments: Any) -> None:
    """Run every block of `kernel`. Arrays stand for pointers (flat views are taken), other values for scalars."""
    flat = [a.reshape(-1) if isinstance(a, np.ndarray) else _scalar(a) for a in arguments]
    with np.errstate(all="ignore"):
        for y, x in itertools.product(range(grid[1]), range(grid[0])):
            block = Block(kernel, (x, y), grid, [a for a in flat if isinstance(a, np.ndarray)])
            block.bind(kernel.body)(*flat)
            assert not block.products, "the kernel ended with products under way"


def _scalar(value: Any) -> Any:
    return F32(value) if isinstance(value, float) else I32(value)


@dataclass
class Block:
    """One block of threads: its shared memory, its copies and products under way."""

    kernel: Kernel
    index: tuple[int, int]
    grid: tuple[int, int]
    memory: list[np.ndarray]
    copies: list[list[tuple[Any, ...]]] = field(default_factory=lambda: [[]])
    products: list[list[Callable[[], None]]] = field(default_factory=list)
    issued: list[Callable[[], None]] = field(default_factory=list)
    unfenced: bool = False

    def __post_init__(self) -> None:
        self.threads = self.kernel.threads
        self.shared = np.full(max(self.kernel.shared_bytes, 16), POISON, np.uint8)
        # Argument i starts at address (i + 1) · 2^40.
        self.bases = [(i + 1) << 40 for i in range(len(self.memory))]
        named = {name: value for name, value in vars(intrinsics).items() if hasattr(self, f"do_{name}")}
        self.meanings = {id(value): getattr(self, f"do_{name}") for name, value in named.items()}
        self.meanings[id(min)], self.meanings[id(max)] = np.minimum, np.maximum
        for columns, transposed, registers in itertools.product((32, 64, 128, 256), (False, True), (False, True)):
            product = self.warpgroup_product(columns, transposed, registers)
            self.meanings[id(intrinsics.warpgroup_product(columns, transposed, registers))] = product
        for pending, count in itertools.product((0, 1), (16, 32, 64, 128)):
            self.meanings[id(intrinsics.warpgroup_wait(pending, count))] = self.warpgroup_wait(pending)

    # --- the kernel's names

    def bind(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with its globals and closure meaning this block's."""
        code, names = function.__code__, {}
        for name in code.co_names:
            found = function.__globals__.get(name, getattr(builtins, name, None))
            if found is not None:
                names[name] = self.meaning(found)
        cells = tuple(types.CellType(self.meaning(cell.cell_contents)) for cell in function.__closure__ or ())
        return types.FunctionType(code, names, function.__name__, function.__defaults__, cells)

    def meaning(self, value: Any) -> Any:
        """What a name of the kernel's stands for in here."""
        if id(value) in self.meanings:
            return self.meanings[id(value)]
        if isinstance(value, numba_types.Number):
            dtype = np.dtype(str(value))
            return lambda x: np.asarray(x).astype(dtype)[()]
        if hasattr(value, "py_func"):
            return self.bind(value.py_func)
        if isinstance(value, types.ModuleType) and value.__name__ == "numba.cuda":
            return self.cuda()
        if isinstance(value, tuple):
            return tuple(map(self.meaning, value))
        return value

    def cuda(self) -> Any:
        space = types.SimpleNamespace
        return space(
            threadIdx=space(x=np.arange(self.threads, dtype=I32)),
            blockIdx=space(x=I32(self.index[0]), y=I32(self.index[1])),
            gridDim=space(x=I32(self.grid[0]), y=I32(self.grid[1])),
            shared=space(array=lambda size, dtype: None),
            local=space(array=lambda size, dtype: [None] * int(size)),
            syncthreads=lambda: None,
            syncwarp=lambda: None,
            selp=np.where,
            shfl_xor_sync=lambda mask, value, step: self.lanes(value)[:, np.arange(32) ^ int(step)].reshape(-1),
        )

    def lanes(self, value: Any) -> np.ndarray:
        return np.broadcast_to(np.asarray(value), (self.threads,)).reshape(-1, 32)

    def each(self, value: Any, dtype: Any) -> np.ndarray:
        if isinstance(value, np.ndarray) and value.shape == (self.threads,):
            return value if value.dtype == dtype else value.astype(dtype)
        return np.full(self.threads, value, dtype)

    # --- memory

    def do_shared_address(self, array: None) -> Any:
        return U32(0)

    def do_global_address(self, array: np.ndarray) -> Any:
        start = array.__array_interface__["data"][0]
        for base, known in zip(self.bases, self.memory, strict=True):
            if known.__array_interface__["data"][0] == start:
                return U64(base)
        raise AssertionError("an address of no argument")

    def read_global(self, address: np.ndarray, size: int) -> np.ndarray:
        """uint8 [len(address), size]."""
        assert (address % size == 0).all(), "a misaligned global address"
        which = (address >> U64(40)).astype(int) - 1
        found = np.empty((len(address), size), np.uint8)
        for i in np.unique(which):
            assert 0 <= i < len(self.memory), "an address outside every argument"
            at = (address[which == i] & U64((1 << 40) - 1)).astype(I64)
            found[which == i] = self.memory[i].view(np.uint8)[at[:, None] + np.arange(size)]
        return found

    def do_load_4(self, fragment: list[Any], index: int, address: Any) -> None:
        fragment[index : index + 4] = self.read_global(self.each(address, U64), 16).view(U32).T.copy()

    def do_load_2(self, fragment: list[Any], index: int, address: Any) -> None:
        fragment[index : index + 2] = self.read_global(self.each(address, U64), 8).view(U32).T.copy()

    def write_global(self, ok: Any, address: Any, values: list[Any]) -> None:
        ok, address, size = self.each(ok, bool), self.each(address, U64), 4 * len(values)
        data = np.stack([self.each(v, U32) for v in values], 1).view(np.uint8)
        assert (address[ok] % size == 0).all(), "a misaligned global address"
        for which in np.unique(address[ok] >> U64(40)):
            chosen = ok & (address >> U64(40) == which)
            at = (address[chosen] & U64((1 << 40) - 1)).astype(I64)
            self.memory[int(which) - 1].view(np.uint8)[at[:, None] + np.arange(size)] = data[chosen]

    def do_store_4_if(self, ok: Any, address: Any, fragment: list[Any], index: int) -> None:
        self.write_global(ok, address, fragment[index : index + 4])

    def do_store_2_if(self, ok: Any, address: Any, fragment: list[Any], index: int) -> None:
        self.write_global(ok, address, fragment[index : index + 2])

    def do_store_if(self, ok: Any, pointer: np.ndarray, index: Any, value: Any) -> None:
        ok, index = self.each(ok, bool), self.each(index, I64)
        pointer[index[ok]] = self.each(value, pointer.dtype)[ok]

    def do_load_if(self, ok: Any, pointer: np.ndarray, index: Any, other: Any) -> Any:
        ok, index = self.each(ok, bool), self.each(index, I64)
        return np.where(ok, pointer[np.where(ok, index, 0)], other)

    def do_cp_async_16(self, to: Any, origin: Any, size: Any) -> None:
        self.copies[-1].append((self.each(to, I64), self.each(origin, U64), self.each(size, I32)))

    def do_cp_async_commit(self) -> None:
        self.copies.append([])

    def wait_copies(self, pending: int) -> None:
        while len(self.copies) - 1 > pending:
            for to, origin, size in self.copies.pop(0):
                data = np.zeros((self.threads, 16), np.uint8)
                data[size > 0] = self.read_global(origin[size > 0], 16)
                self.shared[to[:, None] + np.arange(16)] = data
                self.unfenced = True

    def do_cp_async_wait_0(self) -> None:
        self.wait_copies(0)

    def do_cp_async_wait_1(self) -> None:
        self.wait_copies(1)

    def do_cp_async_wait_2(self) -> None:
        self.wait_copies(2)

    # --- arithmetic

    def do_pack_half(self, low: Any, high: Any) -> np.ndarray:
        pairs = np.stack([half(self.each(low, F32)), half(self.each(high, F32))], 1)
        return pairs.view(U32)[:, 0]

    def do_low_half(self, pair: Any) -> np.ndarray:
        return self.each(pair, U32).view(np.float16)[0::2].astype(F32)

    def do_high_half(self, pair: Any) -> np.ndarray:
        return self.each(pair, U32).view(np.float16)[1::2].astype(F32)

    def do_quotient(self, a: Any, b: Any) -> Any:
        return I32(a // b)

    def do_nearest_int(self, x: Any) -> np.ndarray:
        return np.rint(self.each(x, F32)).astype(I32)

    def do_exp2(self, x: Any) -> np.ndarray:
        return np.exp2(self.each(x, F32))

    def do_log2(self, x: Any) -> np.ndarray:
        return np.log2(self.each(x, F32))

    def do_reciprocal_sqrt(self, x: Any) -> np.ndarray:
        return (1 / np.sqrt(self.each(x, F32))).astype(F32)

    def do_float_of(self, x: Any) -> np.ndarray:
        return self.each(x, U32).view(F32)

    def do_bits_of(self, x: Any) -> np.ndarray:
        return self.each(x, F32).view(U32)

    # --- products of a warp (fragments of m16n8k16: lane = 4 g + t)

    def ldmatrix(self, fragment: list[Any], index: int, address: Any, transposed: bool) -> None:
        at = self.each(address, I64).reshape(-1, 4, 8)
        assert (at % 16 == 0).all(), "a misaligned row for ldmatrix"
        rows = self.shared[at[..., None] + np.arange(16)].view(np.uint16)
        rows = rows.swapaxes(2, 3) if transposed else rows
        found = np.ascontiguousarray(rows).view(U32).reshape(-1, 4, 32)
        fragment[index : index + 4] = [found[:, i].reshape(-1) for i in range(4)]

    def do_ldmatrix_x4(self, fragment: list[Any], index: int, address: Any) -> None:
        self.ldmatrix(fragment, index, address, False)

    def do_ldmatrix_x4_trans(self, fragment: list[Any], index: int, address: Any) -> None:
        self.ldmatrix(fragment, index, address, True)

    def halves(self, register: Any) -> np.ndarray:
        """[warps, 32, 2]: two consecutive columns of a row in each lane's register."""
        return self.each(register, U32).view(np.float16).reshape(-1, 32, 2).astype(F32)

    def do_mma_half(self, acc: list[Any], i: int, a: list[Any], j: int, b0: Any, b1: Any) -> None:
        g, t = np.arange(32) // 4, np.arange(32) % 4
        warps, two = self.threads // 32, np.arange(2)
        A, B = np.empty((warps, 16, 16), F32), np.empty((warps, 8, 16), F32)
        for n in range(4):
            A[:, (g + 8 * (n % 2))[:, None], (2 * t + 8 * (n // 2))[:, None] + two] = self.halves(a[j + n])
        for n, b in enumerate((b0, b1)):
            B[:, g[:, None], (2 * t + 8 * n)[:, None] + two] = self.halves(b)
        C = A @ B.swapaxes(1, 2)
        for n in range(4):
            acc[i + n] = self.each(acc[i + n], F32) + C[:, g + 8 * (n // 2), 2 * t + n % 2].reshape(-1)

    # --- products of a warpgroup

    def do_fence_async_shared(self) -> None:
        self.unfenced = False

    def do_wgmma_fence(self) -> None:
        pass

    def do_wgmma_commit(self) -> None:
        self.products.append(self.issued)
        self.issued = []

    def warpgroup_wait(self, pending: int) -> Callable[..., None]:
        def wait(acc: list[Any], index: int) -> None:
            while len(self.products) > pending:
                for product in self.products.pop(0):
                    product()

        return wait

    def warpgroup_product(self, columns: int, transposed: bool, registers: bool) -> Callable[..., None]:
        def from_shared(acc: list[Any], i: int, a: Any, b: Any, accumulate: Any) -> None:
            left = [self.matrix(d, 64, False) for d in self.each(a, U64)[::128]]
            issue(acc, i, lambda: left, b, accumulate)

        def from_registers(acc: list[Any], i: int, a: list[Any], j: int, b: Any, accumulate: Any) -> None:
            held = [self.each(a[j + n], U32).reshape(-1, 4, 32) for n in range(4)]
            issue(acc, i, lambda: self.a_of(held), b, accumulate)

        def issue(acc: list[Any], i: int, left: Any, b: Any, accumulate: Any) -> None:
            assert not self.unfenced, "wgmma reads shared memory that was not fenced"
            self.issued.append(lambda: self.accumulate(acc, i, left(), b, columns, transposed, int(accumulate)))

        return from_registers if registers else from_shared

    def a_of(self, held: list[np.ndarray]) -> list[np.ndarray]:
        g, t = np.arange(32) // 4, np.arange(32) % 4
        out = np.empty((len(held[0]), 4, 16, 16), F32)
        for n, part in enumerate(held):
            for high in range(2):
                value = (self.do_high_half if high else self.do_low_half)(part.reshape(-1)).reshape(part.shape)
                out[:, :, g + 8 * (n % 2), 2 * t + 8 * (n // 2) + high] = value
        return list(out.reshape(len(out), 64, 16))

    def accumulate(
        self, acc: list[Any], i: int, left: list[Any], b: Any, columns: int, transposed: bool, add: int
    ) -> None:
        g, t = np.arange(32) // 4, np.arange(32) % 4
        groups = [
            A @ self.matrix(d, columns, transposed).T for A, d in zip(left, self.each(b, U64)[::128], strict=True)
        ]
        C = np.stack(groups).reshape(len(left), 4, 16, columns)
        for n in range(columns // 2):
            value = C[:, :, g + 8 * (n // 2 % 2), 8 * (n // 4) + 2 * t + n % 2].reshape(-1)
            acc[i + n] = value + acc[i + n] if add else value

    def matrix(self, descriptor: Any, rows: int, transposed: bool) -> np.ndarray:
        """float32 [rows, 16] behind a descriptor with 128-byte swizzle (PTX ISA, "Matrix descriptor format")."""
        d = int(descriptor)
        assert d >> 62 == 1, "not the 128-byte swizzle"
        start, leading, stride = (d & 0x3FFF) << 4, (d >> 16 & 0x3FFF) << 4, (d >> 32 & 0x3FFF) << 4
        row, k = np.arange(rows)[:, None], np.arange(16)[None]
        if transposed:
            at = row // 64 * leading + row % 64 * 2 + k // 8 * stride + k % 8 * 128
        else:
            at = row // 8 * stride + row % 8 * 128 + k * 2
        at = start + at
        at ^= (at >> 7 & 7) << 4
        return from_half(self.shared[at] | self.shared[at + 1].astype(np.uint16) << 8)
