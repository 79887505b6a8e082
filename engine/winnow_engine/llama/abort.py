"""A stop flag that llama.cpp reads without calling Python."""

from __future__ import annotations

import ctypes

import llama_cpp

# llama.cpp calls `bool callback(void *)` between any two graph nodes, some 500 times per token. A Python function would
# take the GIL each time: 30 tokens beside one busy Python thread took 4.3 s that way, and 0.9 s with `strlen` (SmolLM2,
# 2 cores). `strlen` has the right shape: it returns 0, go on, for an empty string, and 1, stop, for one byte.
_STRLEN = ctypes.cast(ctypes.CDLL(None).strlen, llama_cpp.ggml_abort_callback)


class AbortFlag:
    """One request's flag. Any thread may set it; the running evaluation ends at the next graph node."""

    def __init__(self) -> None:
        self._string = ctypes.create_string_buffer(2)

    def set(self) -> None:
        """Ask the evaluation to end."""
        self._string.value = b"\x01"

    def is_set(self) -> bool:
        """Whether `set` was called."""
        return bool(self._string.value)

    def attach(self, context: int) -> None:
        """Make the llama.cpp context obey this flag. The flag must live until another one is attached."""
        llama_cpp.llama_set_abort_callback(context, _STRLEN, ctypes.cast(self._string, ctypes.c_void_p))
