"""Rows of two matrices rounded to 16-bit integers and multiplied, for `int16_products.py` and `int16_attention.py`.

Each row and chunk of columns has a scale of its own, and the sums of a chunk are exact in int32. So a row comes out the
same whatever stands beside it. A processor multiplies twice as many pairs of int16 as of float32.

The codes of a chunk have a norm of at most 46,300, so no sum of products exceeds 46,300² < 2^31 (Cauchy and Schwarz).
Codes are four to six times as large as codes bounded by their largest alone, and errors as much smaller.

For processors with AVX2.
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

from winnow_cuda.ops._exp import truncated
from winnow_cuda.shapes import Float32, Int16, PackedMatrix

PANEL = 32
"""Columns of W that lie together: pair by pair of their rows, 32 times two int16."""
_CHUNK = 512  # columns
_AHEAD = 16  # pairs of a panel that are fetched before they are used: 2 KB
_NORM, _LARGEST = np.float32(46_300), np.float32(32_767)  # of the codes of a chunk
_COARSE = np.float32(1023)  # steps by which a norm is estimated: the squares of 512 are below 2^31
_PANELS_A_THREAD = 4

_FEATURES = binding.get_host_cpu_features()
_WIDE = bool(_FEATURES.get("avx512bw"))
_FUSED = bool(_FEATURES.get("avx512vnni" if _WIDE else "avxvnni"))  # multiplies and adds in one instruction
_LANES = 16 if _WIDE else 8  # pairs of int16, or int32, in a register
# A tile's sums, two registers of W and one of A fit in the 32 or 16 registers.
TILE = 14 if _WIDE else 6
"""Rows of A that are multiplied together, by two registers of columns."""
TILE_COLUMNS = 2 * _LANES
"""Columns of W that a tile is multiplied by at once: a panel, or half of one."""

_INT32, _FLOAT = ir.IntType(32), ir.FloatType()
_INTS, _SHORTS = ir.VectorType(_INT32, _LANES), ir.VectorType(ir.IntType(16), 2 * _LANES)
_FLOATS = ir.VectorType(_FLOAT, _LANES)


def runs_here() -> bool:
    """True if this processor has the instructions."""
    return bool(_FEATURES.get("avx2"))


@intrinsic  # type: ignore[untyped-decorator]
def multiply_tile(_context: Any, a: Any, a_scales: Any, w: Any, w_scales: Any, out: Any, pairs: Any, first: Any) -> Any:
    """out[TILE, 32 or 16] of one chunk: a · w, scaled; added to what is there unless this chunk is the `first`.

    Each array comes as (array, offset), `out` with its values a row behind them; `pairs` are the columns of the chunk,
    by two.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def place(number: int) -> tuple[Any, list[Any]]:
            """The address of an argument's first value, and what else came with it."""
            kind, parts = signature.args[number], cgutils.unpack_tuple(builder, arguments[number])
            data = context.make_array(kind[0])(context, builder, parts[0]).data
            return builder.gep(data, [parts[1]]), parts[2:]

        (rows, _), (columns, _), (into, [width]) = place(0), place(2), place(4)
        sums = _sum_products(builder, rows, columns, arguments[5])
        scales = place(1)[0], place(3)[0]
        _add_scaled(builder, sums, scales, into, width, arguments[6])
        return context.get_dummy_value()

    return types.void(a, a_scales, w, w_scales, out, types.intp, types.boolean), generate


def _sum_products(builder: Any, rows: Any, columns: Any, pairs: Any) -> list[list[Any]]:
    """Sums of products over the pairs of a chunk, [TILE][2] registers of int32."""
    word = pairs.type
    rows, columns = (builder.bitcast(at, _INT32.as_pointer()) for at in (rows, columns))
    starts = [ir.Constant(word, 0), ir.Constant(word, _LANES)]
    before, loop, after = builder.block, builder.append_basic_block("pairs"), builder.append_basic_block("summed")
    builder.branch(loop)
    builder.position_at_end(loop)
    pair = builder.phi(word)
    sums = [[builder.phi(_INTS) for _ in starts] for _ in range(TILE)]
    across = builder.mul(pair, ir.Constant(word, PANEL))
    loaded = [_vector(builder, columns, builder.add(across, start), _INTS) for start in starts]
    for line in range(0, TILE_COLUMNS, 16):
        _prefetch(builder, columns, builder.add(across, ir.Constant(word, PANEL * _AHEAD + line)))
    down = builder.mul(pair, ir.Constant(word, TILE))
    grown = []
    for number, row in enumerate(sums):
        value = _repeated(builder, rows, builder.add(down, ir.Constant(word, number)), _INTS)
        grown.append([_multiply_add(builder, total, value, column) for total, column in zip(row, loaded, strict=True)])
    following = builder.add(pair, ir.Constant(word, 1))
    pair.add_incoming(ir.Constant(word, 0), before)
    pair.add_incoming(following, loop)
    for row, new in zip(sums, grown, strict=True):
        for total, value in zip(row, new, strict=True):
            total.add_incoming(ir.Constant(_INTS, None), before)
            total.add_incoming(value, loop)
    builder.cbranch(builder.icmp_signed("<", following, pairs), loop, after)
    builder.position_at_end(after)
    return grown


def _multiply_add(builder: Any, total: Any, a: Any, w: Any) -> Any:
    """In each int32 of `total`: the two products of the pairs of int16 in `a` and `w`, added to it."""
    bits = 32 * _LANES
    if _FUSED:
        kind = ir.FunctionType(_INTS, [_INTS, _INTS, _INTS])
        named = cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.avx512.vpdpwssd.{bits}")
        return builder.call(named, [total, a, w])
    name = "llvm.x86.avx512.pmaddw.d.512" if _WIDE else "llvm.x86.avx2.pmadd.wd"
    named = cgutils.get_or_insert_function(builder.module, ir.FunctionType(_INTS, [_SHORTS, _SHORTS]), name)
    return builder.add(total, builder.call(named, [builder.bitcast(a, _SHORTS), builder.bitcast(w, _SHORTS)]))


def _add_scaled(
    builder: Any, sums: list[list[Any]], scales: tuple[Any, Any], into: Any, width: Any, first: Any
) -> None:
    word, nothing = width.type, ir.Constant(_FLOATS, None)
    places = [ir.Constant(word, lane) for lane in range(0, TILE_COLUMNS, _LANES)]
    of_columns = [_vector(builder, scales[1], place, _FLOATS) for place in places]
    for number, row in enumerate(sums):
        of_row = _repeated(builder, scales[0], ir.Constant(word, number), _FLOATS)
        start = builder.mul(width, ir.Constant(word, number))
        for total, place, of_column in zip(row, places, of_columns, strict=True):
            at = builder.bitcast(builder.gep(into, [builder.add(start, place)]), _FLOATS.as_pointer())
            there = builder.load(at)
            there.align = 4
            before = builder.select(first, nothing, there)
            scaled = builder.fmul(builder.sitofp(total, _FLOATS), builder.fmul(of_row, of_column))
            builder.store(builder.fadd(before, scaled), at).align = 4


def _prefetch(builder: Any, start: Any, offset: Any) -> None:
    at = builder.gep(start, [offset])
    kind = ir.FunctionType(ir.VoidType(), [at.type, _INT32, _INT32, _INT32])
    named = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
    builder.call(named, [at, _INT32(0), _INT32(3), _INT32(1)])


def _vector(builder: Any, start: Any, offset: Any, kind: Any) -> Any:
    value = builder.load(builder.bitcast(builder.gep(start, [offset]), kind.as_pointer()))
    value.align = 4
    return value


def _repeated(builder: Any, start: Any, offset: Any, kind: Any) -> Any:
    """One value in every lane."""
    unknown, zero = ir.Constant(kind, ir.Undefined), ir.Constant(_INT32, 0)
    one = builder.insert_element(unknown, builder.load(builder.gep(start, [offset])), zero)
    return builder.shuffle_vector(one, unknown, ir.Constant(_INTS, [0] * _LANES))


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def multiply_panel(
    a: Int16,
    a_scales: Float32,
    tile: int,
    w: Int16,
    w_scales: Float32,
    panel: int,
    out: Float32,
    start: int,
    width: int,
) -> None:
    """A tile of a [tiles, chunks, pairs, 2 TILE] by a panel of w [panels, chunks, pairs, 64], to `start` in out.

    width: values a row of out.
    """
    _, chunks, pairs, _ = a.shape
    rows, columns = a_scales.shape[1], w_scales.shape[1]
    for chunk in range(chunks):
        for column in range(0, PANEL, TILE_COLUMNS):
            multiply_tile(
                (a, (tile * chunks + chunk) * pairs * 2 * TILE),
                (a_scales, chunk * rows + tile * TILE),
                (w, ((panel * chunks + chunk) * pairs * PANEL + column) * 2),
                (w_scales, chunk * columns + panel * PANEL + column),
                (out, start + column, width),
                pairs,
                chunk == 0,
            )


# Nothing here may depend on how it is compiled: it is, for itself and again for each function that calls it.
@njit(nogil=True, fastmath={"nnan", "ninf", "nsz"}, cache=True)  # type: ignore[untyped-decorator]
def _round_row(x: Float32, codes: Int16) -> Any:
    """Round a chunk of one row to integers → its scale. Codes beyond the row are zero."""
    largest, squares = np.float32(1e-30), np.int32(0)
    for column in range(len(x)):
        largest = max(largest, abs(x[column]))
    coarse = _COARSE / largest
    for column in range(len(x)):
        above = truncated(abs(x[column]) * coarse) + np.int32(1)
        squares += above * above  # in integers, whose sum is the same in any order
    inverse = min(_LARGEST / largest, _NORM * coarse / np.sqrt(np.float32(squares)))
    for column in range(len(x)):
        codes[column] = np.int16(np.int32(np.rint(x[column] * inverse)))
    codes[len(x) :] = 0
    return np.float32(1) / inverse


@njit(nogil=True, cache=True)  # type: ignore[untyped-decorator]
def round_tiles(x: Float32, tile_rows: int, chunks: int, pairs: int) -> Any:
    """x [M, K] → int16 [tiles, chunks, pairs, 2 tile_rows], scales [chunks, rows], filled with zeros; 2 pairs ≤ 512."""
    tiles, width = (len(x) + tile_rows - 1) // tile_rows, 2 * pairs
    codes = np.empty((tiles, chunks, pairs, tile_rows), np.int32)
    scales = np.empty((chunks, tiles * tile_rows), np.float32)
    one_tile = np.empty((tile_rows, width), np.int16)
    in_pairs = one_tile.view(np.int32)
    for tile in range(tiles):
        for chunk in range(chunks):
            for row in range(tile_rows):
                at = tile * tile_rows + row
                if at < len(x):
                    part = x[at, chunk * width : min((chunk + 1) * width, x.shape[1])]
                    scales[chunk, at] = _round_row(part, one_tile[row])
                else:
                    scales[chunk, at], one_tile[row] = 0, 0
            for pair in range(pairs):
                for row in range(tile_rows):
                    codes[tile, chunk, pair, row] = in_pairs[row, pair]
    return codes.view(np.int16), scales


def _rounded(x: Float32, tile_rows: int) -> PackedMatrix:
    """x [M, K] as integers, in as few equal chunks of columns as may be."""
    chunks = -(-x.shape[1] // _CHUNK)
    return PackedMatrix(*round_tiles(np.ascontiguousarray(x), tile_rows, chunks, -(-x.shape[1] // (2 * chunks))))


def packed(w: Float32) -> PackedMatrix:
    """Weights [N, K] as the products take them."""
    found = _rounded(w, PANEL)
    return PackedMatrix(found.codes, np.ascontiguousarray(found.scales[:, : len(w)]))


def rounded_rows(a: Float32) -> PackedMatrix:
    """Activations [M, K], in tiles."""
    return _rounded(a, TILE)


def scales_of(w: PackedMatrix) -> Float32:
    """The scales of packed weights, also of the columns that fill up their last panels."""
    missing = len(w.codes) * PANEL - w.scales.shape[1]
    return np.pad(w.scales, ((0, 0), (0, missing))) if missing else w.scales


def in_threads(work: Callable[[int, int], None], panels: int, threads: int) -> None:
    """Do `work(start, stop)` for parts of the panels, one on this thread and the others beside it."""
    parts = max(1, min(threads, panels // _PANELS_A_THREAD))
    borders = np.linspace(0, panels, parts + 1).astype(int).tolist()
    others = [_pool().submit(work, start, stop) for start, stop in pairwise(borders[1:])]
    work(0, borders[1])
    for other in others:
        other.result()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(config.NUMBA_NUM_THREADS, "winnow-int16")
