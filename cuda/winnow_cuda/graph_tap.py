"""Copies the outputs of some layers while llama.cpp evaluates a graph: a compiled `ggml_backend_sched_eval_callback`.

ggml asks about every node of the graph, some 900 for each token of a model with 28 layers, which Python would take
longer to answer than a GPU to evaluate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.ops._graph_callback import BUFFER, CAPACITY, COPY, COUNT, FIRST, NAME, WIDTH, callback


class GraphTap:
    """The outputs of some layers for each token of the last evaluation."""

    def __init__(self, tensor_get: int, name_offset: int, layers: tuple[int, ...], width: int, capacity: int) -> None:
        """`tensor_get` is the address of `ggml_backend_tensor_get`, `name_offset` where a ggml_tensor has its name.

        Evaluations have at most `capacity` tokens, rows `width` elements. The layers are numbered from 0.
        """
        self._buffer = np.zeros((len(layers), capacity, width), np.float32)
        self._state = np.zeros(FIRST + 2 * len(layers), np.int64)
        self._state[[NAME, WIDTH, CAPACITY]] = name_offset, width, capacity
        self._state[[BUFFER, COPY, COUNT]] = self._buffer.ctypes.data, tensor_get, len(layers)
        self._state[FIRST::2] = layers
        self._function = callback()

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
        """The least number of rows copied of a layer; 0 where the graph has no such node for one of them."""
        return int(self._state[FIRST + 1 :: 2].min())

    def rows(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """The outputs of all layers, side by side, for these rows of the evaluation: shape (rows, layers * width)."""
        return self._buffer[:, rows].transpose(1, 0, 2).reshape(len(rows), -1)
