"""The inputs of a model's layers, which are hidden states, for drafts that were trained to read them.

Functions of llama.cpp's staging header llama-ext.h read them: libllama exports these, but as C++ and without a promise
to keep them (docs/decisions/0007-layer-features.md). They are bound by their names under the Itanium C++ ABI, which
Linux and macOS use.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_engine.errors import DraftError
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.patched_functions import added_function

_DENSE = ("gemma4", "gpt-oss", "hunyuan-dense", "llama", "mimo2", "minimax-m2", "nanbeige", "qwen3", "qwen3moe")
_GIVEN_BY = frozenset((*_DENSE, "qwen3next", "qwen35", "qwen35moe"))

_FLOATS = ctypes.POINTER(ctypes.c_float)
_SIGNATURES: dict[str, tuple[str, Any, list[Any]]] = {
    "enable": (
        "_Z30llama_set_embeddings_layer_inpP13llama_contextjb",
        None,
        [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_bool],
    ),
    "read": ("_Z30llama_get_embeddings_layer_inpP13llama_contextj", _FLOATS, [ctypes.c_void_p, ctypes.c_uint32]),
}


@cache
def _function(name: str) -> Callable[..., Any]:
    symbol, result, arguments = _SIGNATURES[name]
    function = added_function(symbol, result, arguments)
    if function is None:
        raise DraftError(
            f"this build of llama.cpp does not give its layers' inputs (it lacks {symbol}): "
            "install llama-cpp-python 0.3.36, or choose another draft"
        )
    return function


@cache
def given_by() -> frozenset[str]:
    """The architectures whose graphs keep layers' inputs here. Others, asked for these, crash the process."""
    added = added_function("winnow_layer_inputs", ctypes.c_char_p, [])
    return _GIVEN_BY if added is None else _GIVEN_BY | set(added().decode().split(","))


def check_layers(target: LlamaModel, layers: Sequence[int], name: str) -> None:
    """Raise DraftError unless llama.cpp can give the inputs of these layers of `target`; `name` is the draft's."""
    if target.architecture not in given_by():
        raise DraftError(
            f"{name} cannot draft for this target: this build of llama.cpp does not give the inputs of layers of the "
            f"architecture {target.architecture!r}. Choose another draft, or set speculate to lookup"
        )
    if not layers or not all(0 <= layer < target.layers for layer in layers):
        raise DraftError(
            f"{name} cannot draft for this target: it reads the layers {list(layers)}, and llama.cpp gives the inputs "
            f"of this target's layers 0 to {target.layers - 1}"
        )
    for function in _SIGNATURES:
        _function(function)


class LayerInputs:
    """The inputs of some of a context's layers, for each token of its last evaluation."""

    def __init__(self, context: int, layers: Sequence[int], width: int) -> None:
        """Make the context keep them from its next evaluation on. `check_layers` must have passed."""
        self._context, self._layers, self._width = context, layers, width
        for layer in layers:
            _function("enable")(context, layer, True)

    def rows(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """The inputs of all layers, side by side, for these rows of the evaluation: shape (rows, layers * width)."""
        shape = (int(rows.max()) + 1, self._width)
        read = _function("read")
        return np.hstack([np.ctypeslib.as_array(read(self._context, layer), shape)[rows] for layer in self._layers])
