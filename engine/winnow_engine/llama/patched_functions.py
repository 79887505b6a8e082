"""Functions that .ci/llama adds to llama.cpp; other builds lack them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llama_cpp import llama_cpp


def added_function(name: str, result: Any, arguments: Sequence[Any]) -> Callable[..., Any] | None:
    """The function of this name, with the types of ctypes for its result and arguments; None in other builds."""
    try:
        function = llama_cpp._lib[name]
    except AttributeError:
        return None
    function.restype, function.argtypes = result, list(arguments)
    return function  # type: ignore[no-any-return]


def has_patches() -> bool:
    """Whether llama.cpp was built by .ci/llama."""
    return hasattr(llama_cpp._lib, "winnow_layer_inputs")
