"""The compiled callback of `graph_tap.py`. Here, because what is compiled here is kept for the next process.

It is told in int64: these, then each layer's number and how many rows of it were copied.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, types
from numba.extending import intrinsic

NAME, WIDTH, CAPACITY, BUFFER, COPY, COUNT, FIRST = range(7)
_PREFIX = np.frombuffer(b"l_out-", np.uint8)  # and the layer's number: how llama.cpp names the nodes
_NAME_BYTES = 64
_F32 = 0
# Where a tensor has its elements a row and its rows, in int64. Its type is the first int32.
_NE0, _NE1 = 2, 3


@intrinsic  # type: ignore[untyped-decorator]
def _copy(_context: Any, function: Any, tensor: Any, to: Any, offset: Any, size: Any) -> Any:
    """Call `ggml_backend_tensor_get` at the address `function`, so that what is compiled holds no address."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, word, word, word])
        builder.call(builder.inttoptr(arguments[0], kind.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    words = types.int64, types.int64, types.int64
    return types.void(types.int64, types.voidptr, *words), generate


@cache
def callback() -> Any:
    """A `ggml_backend_sched_eval_callback`, compiled, or read from Numba's cache."""

    @cfunc(types.int32(types.voidptr, types.int32, types.voidptr), cache=True)  # type: ignore[untyped-decorator]
    def tap(tensor: Any, asked: int, told: Any) -> int:
        state = carray(told, (FIRST,), np.int64)
        name = carray(tensor, (state[NAME] + _NAME_BYTES,), np.uint8)[state[NAME] :]
        for place in range(len(_PREFIX)):
            if name[place] != _PREFIX[place]:
                return 0
        layer, place = np.int64(0), len(_PREFIX)
        while name[place] != 0:
            layer = 10 * layer + np.int64(name[place]) - 48
            place += 1
        sizes = carray(tensor, (_NE1 + 1,), np.int64)
        width, capacity = state[WIDTH], state[CAPACITY]
        if carray(tensor, (1,), np.int32)[0] != _F32 or sizes[_NE0] != width:
            return 0
        wanted = carray(told, (FIRST + 2 * state[COUNT],), np.int64)[FIRST:]
        for number in range(state[COUNT]):
            if wanted[2 * number] == layer:
                if asked & 1 == 0:
                    rows = min(sizes[_NE1], capacity)
                    to = state[BUFFER] + 4 * number * capacity * width
                    _copy(state[COPY], tensor, to, np.int64(0), np.int64(4 * rows * width))
                    wanted[2 * number + 1] = rows
                return 1
        return 0

    return tap
