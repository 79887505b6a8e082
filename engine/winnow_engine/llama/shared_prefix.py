"""Branches of a draft that see what stands before them, not copies of it, where llama.cpp is built for that."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

from winnow_engine.llama.patched_functions import added_function


class SharedPrefix:
    """What all sequences of a memory share: the beginning of sequence 0. Builds by .ci/llama know it (trunk.h)."""

    def __init__(self, memory: int) -> None:
        """`memory` is that of a context; some kinds have no trunk, as recurrent ones."""
        self._memory, self._set = memory, _setter()
        self.shared = self.share(0)

    def share(self, end: int) -> bool:
        """Have the other sequences see sequence 0 before position `end`. False if they have to be copies of it."""
        return self._set is not None and self._set(self._memory, end)


@cache
def _setter() -> Callable[..., bool] | None:
    return added_function("winnow_set_trunk", ctypes.c_bool, [ctypes.c_void_p, ctypes.c_int32])
