"""Single operations of ggml, the library of tensors in llama.cpp, on the CPU and on NumPy's arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llama_cpp import llama_cpp as bindings
from numpy.typing import NDArray

Q4_K, Q6_K = 12, 14
_F32, _F16 = 0, 1
_MEMORY = 256 << 20


class _Parameters(ctypes.Structure):
    _fields_ = (("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool))


def cpu_library() -> ctypes.CDLL:
    """ggml's library for the CPU, begun; of several, the one loaded. Skips where it is not beside llama.cpp's."""
    llama = Path(bindings._lib._name)
    found = list(llama.parent.glob(f"libggml-cpu*{llama.suffix}"))
    path = next((path for path in found if len(found) == 1 or str(path) in Path("/proc/self/maps").read_text()), None)
    if path is None:
        pytest.skip("llama.cpp has no library of its own for the CPU here")
    library = ctypes.CDLL(str(path))
    library.ggml_cpu_init()
    return library


class Graph:
    """One operation on tensors, each a pointer. Shapes are in ggml's order, the innermost first."""

    def __init__(self, library: ctypes.CDLL, context: int) -> None:
        self._library, self._context = library, context

    def call(self, name: str, *arguments: Any) -> int:
        """A function that takes the context and gives a pointer."""
        function = getattr(self._library, name)
        function.restype = ctypes.c_void_p
        kinds = {int: ctypes.c_void_p, float: ctypes.c_float, type(None): ctypes.c_void_p}
        return int(
            function(ctypes.c_void_p(self._context), *(kinds.get(type(one), lambda x: x)(one) for one in arguments))
        )

    def tensor(self, kind: int, shape: Sequence[int], data: NDArray[Any]) -> int:
        """A tensor with a copy of the data."""
        padded = [ctypes.c_int64(size) for size in [*shape, *[1] * (4 - len(shape))]]
        tensor = self.call("ggml_new_tensor_4d", ctypes.c_int(kind), *padded)
        data = np.ascontiguousarray(data)
        ctypes.memmove(self._data(tensor), data.ctypes.data, data.nbytes)
        return tensor

    def floats(self, data: NDArray[Any]) -> int:
        """A tensor of float32 or float16, like the array."""
        return self.tensor(_F16 if data.dtype == np.float16 else _F32, data.shape[::-1], data)

    def compute(self, result: int, shape: tuple[int, ...], threads: int) -> NDArray[np.float32]:
        """What the operation gives, as an array."""
        graph = self.call("ggml_new_graph")
        self._library.ggml_build_forward_expand(ctypes.c_void_p(graph), ctypes.c_void_p(result))
        status = self._library.ggml_graph_compute_with_ctx(
            ctypes.c_void_p(self._context), ctypes.c_void_p(graph), ctypes.c_int(threads)
        )
        assert status == 0
        found = np.empty(shape, np.float32)
        ctypes.memmove(found.ctypes.data, self._data(result), found.nbytes)
        return found

    def _data(self, tensor: int) -> int:
        self._library.ggml_get_data.restype = ctypes.c_void_p
        return int(self._library.ggml_get_data(ctypes.c_void_p(tensor)))


@contextmanager
def graph(library: ctypes.CDLL) -> Iterator[Graph]:
    """A graph with memory of its own."""
    library.ggml_init.restype = ctypes.c_void_p
    context = library.ggml_init(_Parameters(_MEMORY, None, False))
    assert context
    try:
        yield Graph(library, context)
    finally:
        library.ggml_free(ctypes.c_void_p(context))
