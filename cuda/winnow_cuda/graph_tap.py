"""Copies the outputs of some layers while llama.cpp evaluates a graph: a compiled `ggml_backend_sched_eval_callback`.

ggml asks about every node of the graph, some 900 for each token of a model with 28 layers, which Python would take
longer to answer than a GPU to evaluate.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numba import carray, cfunc, types
from numpy.typing import NDArray

_PREFIX = np.frombuffer(b"l_out-", np.uint8)  # and the layer's number: how llama.cpp names the nodes
_NAME_BYTES = 64
_F32 = 0

# What the callback is told, in int64: these, then each layer's number and how many rows of it were copied.
_NAME, _WIDTH, _CAPACITY, _BUFFER, _COUNT, _FIRST = range(6)
# Where a tensor has its elements a row and its rows, in int64. Its type is the first int32.
_NE0, _NE1 = 2, 3


@cache
def _compiled(tensor_get: int) -> Any:
    signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
    copy = signature(tensor_get)

    @cfunc(types.int32(types.voidptr, types.int32, types.voidptr))  # type: ignore[untyped-decorator]
    def callback(tensor: Any, asked: int, told: Any) -> int:
        state = carray(told, (_FIRST,), np.int64)
        name = carray(tensor, (state[_NAME] + _NAME_BYTES,), np.uint8)[state[_NAME] :]
        for place in range(len(_PREFIX)):
            if name[place] != _PREFIX[place]:
                return 0
        layer, place = np.int64(0), len(_PREFIX)
        while name[place] != 0:
            layer = 10 * layer + np.int64(name[place]) - 48
            place += 1
        sizes = carray(tensor, (_NE1 + 1,), np.int64)
        width, capacity = state[_WIDTH], state[_CAPACITY]
        if carray(tensor, (1,), np.int32)[0] != _F32 or sizes[_NE0] != width:
            return 0
        wanted = carray(told, (_FIRST + 2 * state[_COUNT],), np.int64)[_FIRST:]
        for number in range(state[_COUNT]):
            if wanted[2 * number] == layer:
                if asked & 1 == 0:
                    rows = min(sizes[_NE1], capacity)
                    copy(tensor, state[_BUFFER] + 4 * number * capacity * width, 0, 4 * rows * width)
                    wanted[2 * number + 1] = rows
                return 1
        return 0

    return callback


class GraphTap:
    """The outputs of some layers for each token of the last evaluation."""

    def __init__(self, tensor_get: int, name_offset: int, layers: tuple[int, ...], width: int, capacity: int) -> None:
        """`tensor_get` is the address of `ggml_backend_tensor_get`, `name_offset` where a ggml_tensor has its name.

        Evaluations have at most `capacity` tokens, rows `width` elements. The layers are numbered from 0.
        """
        self._buffer = np.zeros((len(layers), capacity, width), np.float32)
        self._state = np.zeros(_FIRST + 2 * len(layers), np.int64)
        self._state[:_FIRST] = name_offset, width, capacity, self._buffer.ctypes.data, len(layers)
        self._state[_FIRST::2] = layers
        self._function = _compiled(tensor_get)

    @property
    def callback(self) -> int:
        """The address for `cb_eval`. Like that of the state it is good as long as this object lives."""
        return int(self._function.address)

    @property
    def state(self) -> int:
        """The address for `cb_eval_user_data`."""
        return int(self._state.ctypes.data)

    @property
    def copied(self) -> int:
        """How many rows of each layer were copied, at least; 0 where the graph has no such node for one of them."""
        return int(self._state[_FIRST + 1 :: 2].min())

    def rows(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """The outputs of all layers, side by side, for these rows of the evaluation: shape (rows, layers * width)."""
        return np.hstack([layer[rows] for layer in self._buffer])
