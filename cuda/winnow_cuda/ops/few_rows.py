"""A · Wᵀ for so few rows of A that each weight is used a few times only: a question's way through a drafter's layers.

Both matrices are rounded to integers, with a scale for each row and chunk of columns, and sums of a chunk are exact in
int32. The processor multiplies 16 pairs at once where float32 has 8. Weights are rounded once (`packed`): 1,023 steps
from 0 to the largest of a chunk, an eighth of bfloat16's error for that one. On one core of an AMD EPYC of family 25
beside other work, 32 rows: 102 to 122 GFLOP/s; float32 in OpenBLAS 55 to 64, where weights are rearranged each time.

For processors with AVX2; BLAS serves others.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from winnow_cuda.shapes import Float32, Int16, PackedMatrix

_TILE = 3  # rows of both matrices that are multiplied together: 9 sums and 4 operands fit in 16 registers
_LANES = 16  # int16 in a register
_CHUNK = 1024  # columns: 1,023 * 2,047 * 1,024 is the largest sum below 2^31
_STEPS, _WEIGHT_STEPS = 2047, 1023
_COLUMNS_A_THREAD = 128


def runs_here() -> bool:
    """Whether this processor has the instructions."""
    return bool(binding.get_host_cpu_features().get("avx2"))


@intrinsic  # type: ignore[untyped-decorator]
def _dots(_context: Any, a: Any, chunk: Any, row: Any, w: Any, column: Any) -> Any:
    """The dot products of _TILE rows of a[chunk] with _TILE rows of w[chunk], as a tuple of int32, row by row."""
    signature = types.UniTuple(types.int32, _TILE * _TILE)(a, types.intp, types.intp, w, types.intp)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a_type, _, _, w_type, _ = signature.args
        array, chunk, row, other, column = arguments
        first, width = _rows(context, builder, a_type, array, chunk, row)
        second, _ = _rows(context, builder, w_type, other, chunk, column)
        sums = _inner_loop(builder, first, second, width)
        return context.make_tuple(builder, signature.return_type, sums)

    return signature, generate


def _rows(context: Any, builder: Any, kind: Any, array: Any, chunk: Any, row: Any) -> tuple[list[Any], Any]:
    """Pointers to _TILE rows from array[chunk, row] on, and their length."""
    parts = context.make_array(kind)(context, builder, array)
    _, rows, width = cgutils.unpack_tuple(builder, parts.shape)
    start = builder.mul(builder.add(builder.mul(chunk, rows), row), width)
    offsets = [builder.add(start, builder.mul(width, ir.Constant(width.type, i))) for i in range(_TILE)]
    return [builder.gep(parts.data, [offset]) for offset in offsets], width


def _inner_loop(builder: Any, first: list[Any], second: list[Any], width: Any) -> list[Any]:
    """Sums of products along the rows, a register at a time."""
    loaded, summed = ir.VectorType(ir.IntType(16), _LANES), ir.VectorType(ir.IntType(32), _LANES // 2)
    multiply_add = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(summed, [loaded, loaded]), "llvm.x86.avx2.pmadd.wd"
    )
    add_lanes = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(ir.IntType(32), [summed]), f"llvm.vector.reduce.add.v{_LANES // 2}i32"
    )
    before, loop, after = builder.block, builder.append_basic_block("dots"), builder.append_basic_block("dotted")
    builder.branch(loop)
    builder.position_at_end(loop)
    at = builder.phi(width.type)
    at.add_incoming(ir.Constant(width.type, 0), before)
    sums = [builder.phi(summed) for _ in range(_TILE * _TILE)]

    def load(row: Any) -> Any:
        value = builder.load(builder.bitcast(builder.gep(row, [at]), loaded.as_pointer()))
        value.align = 2
        return value

    columns = [load(row) for row in second]
    products = [builder.call(multiply_add, [value, column]) for value in map(load, first) for column in columns]
    grown = [builder.add(total, product) for total, product in zip(sums, products, strict=True)]
    for total, new in zip(sums, grown, strict=True):
        total.add_incoming(ir.Constant(summed, None), before)
        total.add_incoming(new, loop)
    following = builder.add(at, ir.Constant(width.type, _LANES))
    at.add_incoming(following, loop)
    builder.cbranch(builder.icmp_signed("<", following, width), loop, after)
    builder.position_at_end(after)
    return [builder.call(add_lanes, [total]) for total in grown]


@njit(nogil=True, fastmath=True, cache=True)  # type: ignore[untyped-decorator]
def _products(a: Int16, a_scales: Float32, w: Int16, w_scales: Float32, first: int, stop: int, out: Float32) -> None:
    """Columns first:stop of out [M, N]. The last tiles overlap those before them."""
    for start in range(first, stop, _TILE):
        column = min(start, stop - _TILE)
        for above in range(0, out.shape[0], _TILE):
            row = min(above, out.shape[0] - _TILE)
            for chunk in range(a.shape[0]):
                dots = _dots(a, chunk, row, w, column)
                for i in range(_TILE):
                    for j in range(_TILE):
                        scale = a_scales[chunk, row + i] * w_scales[chunk, column + j]
                        before = np.float32(0) if chunk == 0 else out[row + i, column + j]
                        out[row + i, column + j] = before + scale * np.float32(dots[i * _TILE + j])


@njit(nogil=True, fastmath=True, cache=True)  # type: ignore[untyped-decorator]
def _round(x: Float32, steps: int, codes: Int16, scales: Float32) -> None:
    """Codes [chunks, rows, width] and scales [chunks, rows] of x. Codes beyond its rows and columns are left alone."""
    width = codes.shape[2]
    for row in range(x.shape[0]):
        for chunk in range(codes.shape[0]):
            start = chunk * width
            stop = min(start + width, x.shape[1])
            largest = np.float32(1e-30)
            for column in range(start, stop):
                largest = max(largest, abs(x[row, column]))
            scales[chunk, row] = largest / np.float32(steps)
            inverse = np.float32(steps) / largest
            for column in range(start, stop):
                codes[chunk, row, column - start] = np.int16(np.rint(x[row, column] * inverse))


def packed(w: Float32) -> PackedMatrix:
    """Weights [N, K] for `few_rows`; N is at least 3."""
    return _rounded(np.ascontiguousarray(w), _WEIGHT_STEPS)


def few_rows(a: Float32, w: PackedMatrix) -> Float32:
    """a [M, K] · Wᵀ → [M, N], float32. Each thread takes some of the columns."""
    rows, columns = len(a), w.codes.shape[1]
    rounded, out = _rounded(a, _STEPS), np.empty((max(rows, _TILE), columns), np.float32)
    threads = max(1, min(config.NUMBA_NUM_THREADS, columns // _COLUMNS_A_THREAD))
    borders = np.linspace(0, columns, threads + 1).astype(int).tolist()
    _each(lambda part: _products(rounded.codes, rounded.scales, w.codes, w.scales, *part, out), list(pairwise(borders)))
    return out[:rows]


def few_rows_numpy(a: Float32, w: Float32) -> Float32:
    """The twin of `few_rows`, of unpacked weights: what a product without rounding is."""
    return np.asarray(a.astype(np.float64) @ w.T.astype(np.float64), np.float32)


def _rounded(x: Float32, steps: int) -> PackedMatrix:
    chunks = -(-x.shape[1] // _CHUNK)
    width = -(-x.shape[1] // (chunks * _LANES)) * _LANES
    codes = np.zeros((chunks, max(len(x), _TILE), width), np.int16)
    scales = np.zeros(codes.shape[:2], np.float32)
    _round(x, steps, codes, scales)
    return PackedMatrix(codes, scales)


def _each(work: Callable[[tuple[int, int]], None], parts: list[tuple[int, int]]) -> None:
    """Do all parts, the first one on this thread."""
    others = [_pool().submit(work, part) for part in parts[1:]]
    work(parts[0])
    for other in others:
        other.result()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(config.NUMBA_NUM_THREADS, "winnow-few-rows")
