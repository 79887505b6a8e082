"""Rows of two matrices rounded to integers and multiplied, for `int8_products.py` and `int16_attention.py`.

Each row and chunk of columns has a scale of its own, and the sums of a chunk are exact in int32. So a row comes out the
same whatever stands beside it, and on any processor. Columns lie together in words of 32 bits: four of 8 bits where the
processor multiplies and adds four in one instruction, else two of 16 bits.

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
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from winnow_cuda.ops._cache import compiled
from winnow_cuda.ops._exp import larger
from winnow_cuda.shapes import Float32, Int32, PackedMatrix

PANEL = 32
"""Columns of W that lie together: word by word of their rows, 32 at a time."""
_CHUNK = 128  # columns
_STEPS = 127  # of the codes of products: of 8 bits, wherever they lie in 16
_AHEAD = 16  # words of a panel that are fetched before they are used: 2 KB
_PANELS_A_THREAD = 4

_FEATURES = binding.get_host_cpu_features()
_WIDE = bool(_FEATURES.get("avx512bw"))
_FUSED = bool(_FEATURES.get("avx512vnni" if _WIDE else "avxvnni"))  # multiplies and adds in one instruction
_LANES = 16 if _WIDE else 8  # words, or int32, in a register
# A tile's sums, two registers of W and one of A fit in the 32 or 16 registers.
TILE = 14 if _WIDE else 6
"""Rows of A that are multiplied together, by two registers of columns."""
TILE_COLUMNS = 2 * _LANES
"""Columns of W that a tile is multiplied by at once: a panel, or half of one."""
# The instruction for 8 bits takes A without a sign: 128 is added to its codes, and W begins with what that adds to the
# sums, negative, as one more row of words.
_CODES: Any = np.uint8 if _FUSED else np.int16
_IN_WORD = 4 if _FUSED else 2
_RAISED = 128 if _FUSED else 0

LAYOUT = f"{_CHUNK} columns, {np.dtype(_CODES)}"
"""Of packed weights on this processor."""

_INT32, _FLOAT = ir.IntType(32), ir.FloatType()
_INTS, _SHORTS = ir.VectorType(_INT32, _LANES), ir.VectorType(ir.IntType(16), 2 * _LANES)
_FLOATS = ir.VectorType(_FLOAT, _LANES)
_EXACT = ("nsz",)  # with a flag, an operation gets none of those of the function that it is in


def runs_here() -> bool:
    """True if this processor has the instructions."""
    return bool(_FEATURES.get("avx2"))


@intrinsic  # type: ignore[untyped-decorator]
def multiply_tile(_context: Any, a: Any, a_scales: Any, w: Any, w_scales: Any, out: Any, words: Any, first: Any) -> Any:
    """out[TILE, 32 or 16] of one chunk: a · w, scaled; added to what is there unless this chunk is the `first`.

    Each array comes as (array, offset), `out` with its values a row behind them; the chunk has so many `words`, of two
    int16 or, where codes are bytes, four.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        def place(number: int) -> tuple[Any, list[Any]]:
            """The address of an argument's first value, and what else came with it."""
            kind, parts = signature.args[number], cgutils.unpack_tuple(builder, arguments[number])
            data = context.make_array(kind[0])(context, builder, parts[0]).data
            return builder.gep(data, [parts[1]]), parts[2:]

        (rows, _), (columns, _), (into, [width]) = place(0), place(2), place(4)
        in_bytes = signature.args[0][0].dtype.bitwidth == 8
        sums = _sum_products(builder, rows, columns, arguments[5], in_bytes)
        scales = place(1)[0], place(3)[0]
        _add_scaled(builder, sums, scales, into, width, arguments[6])
        return context.get_dummy_value()

    return types.void(a, a_scales, w, w_scales, out, types.intp, types.boolean), generate


def _sum_products(builder: Any, rows: Any, columns: Any, words: Any, in_bytes: bool) -> list[list[Any]]:
    """Sums of products over the words of a chunk, [TILE][2] registers of int32."""
    kind = words.type
    rows, columns = (builder.bitcast(at, _INT32.as_pointer()) for at in (rows, columns))
    places = [ir.Constant(kind, 0), ir.Constant(kind, _LANES)]
    starts = [_vector(builder, columns, at, _INTS) if in_bytes else ir.Constant(_INTS, None) for at in places]
    if in_bytes:
        columns = builder.gep(columns, [ir.Constant(kind, PANEL)])
    before, loop, after = builder.block, builder.append_basic_block("words"), builder.append_basic_block("summed")
    builder.branch(loop)
    builder.position_at_end(loop)
    word = builder.phi(kind)
    sums = [[builder.phi(_INTS) for _ in places] for _ in range(TILE)]
    across = builder.mul(word, ir.Constant(kind, PANEL))
    loaded = [_vector(builder, columns, builder.add(across, at), _INTS) for at in places]
    for line in range(0, TILE_COLUMNS, 16):
        _prefetch(builder, columns, builder.add(across, ir.Constant(kind, PANEL * _AHEAD + line)))
    down = builder.mul(word, ir.Constant(kind, TILE))
    grown = []
    for number, row in enumerate(sums):
        value = _repeated(builder, rows, builder.add(down, ir.Constant(kind, number)), _INTS)
        pairs = zip(row, loaded, strict=True)
        grown.append([_multiply_add(builder, total, value, column, in_bytes) for total, column in pairs])
    following = builder.add(word, ir.Constant(kind, 1))
    word.add_incoming(ir.Constant(kind, 0), before)
    word.add_incoming(following, loop)
    for row, new in zip(sums, grown, strict=True):
        for total, start, value in zip(row, starts, new, strict=True):
            total.add_incoming(start, before)
            total.add_incoming(value, loop)
    builder.cbranch(builder.icmp_signed("<", following, words), loop, after)
    builder.position_at_end(after)
    return grown


def _multiply_add(builder: Any, total: Any, a: Any, w: Any, in_bytes: bool) -> Any:
    """In each int32 of `total`: the products of the words of `a` and `w`, added to it."""
    bits = 32 * _LANES
    if _FUSED:
        kind = ir.FunctionType(_INTS, [_INTS, _INTS, _INTS])
        name = f"llvm.x86.avx512.{'vpdpbusd' if in_bytes else 'vpdpwssd'}.{bits}"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), [total, a, w])
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
            scale = builder.fmul(of_row, of_column, flags=_EXACT)
            scaled = builder.fmul(builder.sitofp(total, _FLOATS), scale, flags=_EXACT)
            builder.store(builder.fadd(before, scaled, flags=_EXACT), at).align = 4


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


@compiled(inline="always")
def multiply_panel(a: Any, tile: int, w: Any, panel: int, out: Float32, start: int, width: int) -> None:
    """A tile of a by a panel of w, each (codes [tiles or panels, chunks, words, ...], scales), to `start` in out.

    width: values a row of out.
    """
    (a, a_scales), (w, w_scales) = a, w
    _, chunks, words, _ = a.shape
    rows, columns = a_scales.shape[1], w_scales.shape[1]
    for chunk in range(chunks):
        for column in range(0, PANEL, TILE_COLUMNS):
            multiply_tile(
                (a, (tile * chunks + chunk) * words * _IN_WORD * TILE),
                (a_scales, chunk * rows + tile * TILE),
                (w, ((panel * chunks + chunk) * w.shape[2] * PANEL + column) * _IN_WORD),
                (w_scales, chunk * columns + panel * PANEL + column),
                (out, start + column, width),
                words,
                chunk == 0,
            )


@compiled(fastmath={"nnan", "ninf", "nsz"})
def _round_tiles(x: Float32, steps: int, raised: int, room: Any, in_word: int, codes: Int32, scales: Float32) -> None:
    """As `round_tiles`, tile by tile through `room`: int32 [rows, words], and the same as uint8 and as int16.

    in_word: 4 codes of 8 bits or 2 of 16; only those of 8 are `raised`.
    """
    in_words, in_bytes, in_shorts = room
    tiles, chunks, words, tile_rows = codes.shape
    width = words * in_word
    for tile in range(tiles):
        for chunk in range(chunks):
            for row in range(tile_rows):
                at = tile * tile_rows + row
                if at >= len(x):
                    break
                part, largest = x[at, chunk * width : (chunk + 1) * width], np.float32(1e-30)
                for column in range(len(part)):
                    largest = larger(largest, abs(part[column]))
                inverse = np.float32(steps) / largest
                for word in range(words):
                    in_words[row, word] = raised * 0x01010101
                for column in range(len(part)):
                    code = np.int32(np.rint(part[column] * inverse)) + raised
                    if in_word == 4:
                        in_bytes[row, column] = code
                    else:
                        in_shorts[row, column] = code
                scales[chunk, at] = np.float32(1) / inverse
            for word in range(words):
                for row in range(tile_rows):
                    codes[tile, chunk, word, row] = in_words[row, word]


def round_tiles(x: Float32, tile_rows: int, chunk: int, kind: Any, steps: int, raised: int = 0) -> PackedMatrix:
    """x [M, K], in equal chunks of at most `chunk` columns, as integers of a `kind`: at most `steps`, plus `raised`.

    Tiles are filled up with rows whose scale is zero.
    """
    tiles, chunks, in_word = -(-len(x) // tile_rows), -(-x.shape[1] // chunk), 4 // np.dtype(kind).itemsize
    words = 4 * -(-x.shape[1] // (4 * chunks)) // in_word  # chunks end at the same columns in any kind
    codes = np.empty((tiles, chunks, words, tile_rows), np.int32)
    scales = np.zeros((chunks, tiles * tile_rows), np.float32)
    one_tile = np.zeros((tile_rows, words), np.int32)
    room = one_tile, one_tile.view(np.uint8), one_tile.view(np.int16)
    _round_tiles(np.ascontiguousarray(x), steps, raised, room, in_word, codes, scales)
    return PackedMatrix(codes.view(kind), scales)


def packed(w: Float32) -> PackedMatrix:
    """Weights [N, K] as the products take them."""
    found = round_tiles(w, PANEL, _CHUNK, _CODES, _STEPS)
    codes = found.codes
    if _RAISED:
        of_panel = codes.view(np.int8).sum(2, np.int16).reshape(*codes.shape[:2], 1, PANEL, _IN_WORD)
        first = of_panel.sum(4, np.int32) * -_RAISED
        codes = np.concatenate([first.view(_CODES), codes], axis=2)
    return PackedMatrix(codes, np.ascontiguousarray(found.scales[:, : len(w)]))


def rounded_rows(a: Float32) -> PackedMatrix:
    """Activations [M, K], in tiles."""
    return round_tiles(a, TILE, _CHUNK, _CODES, _STEPS, _RAISED)


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
    return ThreadPoolExecutor(config.NUMBA_NUM_THREADS, "winnow-products")
