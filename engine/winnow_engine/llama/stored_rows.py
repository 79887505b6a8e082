"""Rows of a GGUF's matrix in float32, unpacked by ggml: 3 µs each on a core of an AMD EPYC, where the gguf package's
NumPy takes 0.3 ms for a few.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from llama_cpp import llama_cpp as bindings
from numpy.typing import NDArray

from winnow_engine.errors import UnsupportedModelError
from winnow_engine.models.gguf_header import read_header


class _Traits(ctypes.Structure):
    """The beginning of `struct ggml_type_traits` of ggml.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("block", ctypes.c_int64),
        ("interleaved", ctypes.c_int64),
        ("bytes", ctypes.c_size_t),
        ("quantised", ctypes.c_bool),
        ("unpack", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)),
    )


_traits = bindings._lib.ggml_get_type_traits
_traits.argtypes, _traits.restype = [ctypes.c_int], ctypes.POINTER(_Traits)


class StoredRows:
    """A matrix as the file stores it, mapped into memory."""

    def __init__(self, path: Path, name: str) -> None:
        """The tensor called `name` of `path`. Raises what `read_header` does, or UnsupportedModelError."""
        info = read_header(path).tensors.get(name)
        if info is None:
            raise UnsupportedModelError(f"{path.name} has no tensor {name!r}")
        data = np.memmap(path, np.uint8, mode="r", offset=info.offset, shape=(info.bytes,))
        self._rows, self._width = data.view(np.ndarray).reshape(info.shape[0], -1), info.shape[1]
        self._unpack = _unpacking(info.type)

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self, numbers: NDArray[np.int32]) -> NDArray[np.float32]:
        """The rows of these numbers, shape (numbers, columns)."""
        stored = self._rows[numbers]
        if self._unpack is None:
            return stored.view(np.float32)
        rows = np.empty((len(numbers), self._width), np.float32)
        self._unpack(stored.ctypes.data, rows.ctypes.data, rows.size)
        return rows


def _unpacking(kind: GGMLQuantizationType) -> Any:
    """ggml's function for a type; None for float32, which needs none."""
    if kind is GGMLQuantizationType.F32:
        return None
    found = _traits(kind).contents
    assert (found.block, found.bytes) == GGML_QUANT_SIZES[kind], "ggml's traits have another layout"
    return found.unpack
