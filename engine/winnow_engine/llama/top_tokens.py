"""The likeliest tokens of a pass, found by the GPU that has its logits: only our builds of llama.cpp can (.ci/llama).

16 rows of logits of Qwen2.5 are 9.7 MB, which take an H100 0.4 ms to copy, and the host 0.05 ms each to search.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from winnow_engine.llama.patched_functions import added_function


class Choices:
    """Those of a context; `choices_of` makes it."""

    def __init__(self, handle: int, choose: Callable[..., None], choices: Callable[..., Any]) -> None:
        """Have the graphs of the context `handle` find them, too."""
        self._handle, self._choose, self._choices = handle, choose, choices
        choose(handle, False)

    @contextmanager
    def instead_of_logits(self) -> Iterator[None]:
        """Have evaluations give them, and no logits."""
        self._choose(self._handle, True)
        try:
            yield
        finally:
            self._choose(self._handle, False)

    def last(self) -> Sequence[int] | None:
        """For each row of logits that the last evaluation was asked for, the likeliest token, -1 if there is none.

        They are valid until the next evaluation. None if it gave logits.
        """
        return self._choices(self._handle) or None


def choices_of(handle: int) -> Choices | None:
    """Those of the context `handle`, which has evaluated nothing yet; None in other builds of llama.cpp."""
    functions = _functions()
    return functions and Choices(handle, *functions)


@cache
def _functions() -> tuple[Callable[..., None], Callable[..., Any]] | None:
    choose = added_function("winnow_choose", None, [ctypes.c_void_p, ctypes.c_bool])
    choices = added_function("winnow_choices", ctypes.POINTER(ctypes.c_int32), [ctypes.c_void_p])
    return None if choose is None or choices is None else (choose, choices)
