"""The likeliest tokens of a pass, found by the GPU that has its logits: only our builds of llama.cpp can (.ci/llama).

16 rows of logits of Qwen2.5 are 9.7 MB, which take an H100 0.4 ms to copy, and the host 0.05 ms each to search.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import Any

from winnow_engine.llama.added import added_function


@cache
def _functions() -> tuple[Any, Any] | None:
    choose = added_function("winnow_choose", None, [ctypes.c_void_p, ctypes.c_bool])
    choices = added_function("winnow_choices", ctypes.POINTER(ctypes.c_int32), [ctypes.c_void_p])
    return None if choose is None or choices is None else (choose, choices)


class Choices:
    """Those of a context, which has evaluated nothing yet."""

    def __init__(self, handle: int) -> None:
        """Have the graphs of the context `handle` find them, too."""
        self._handle = handle
        self.instead_of_logits(False)

    def instead_of_logits(self, chosen: bool) -> None:
        """Whether evaluations from now on give them, and no logits."""
        if (functions := _functions()) is not None:
            functions[0](self._handle, chosen)

    def last(self) -> Sequence[int] | None:
        """For each row of logits that the last evaluation was asked for, the likeliest token, -1 if there is none.

        They are valid until the next evaluation. None if it gave logits.
        """
        functions = _functions()
        found = functions and functions[1](self._handle)
        return found or None
