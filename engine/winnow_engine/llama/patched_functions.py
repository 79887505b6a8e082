"""What winnow_llama adds to llama.cpp, which other builds lack."""

from __future__ import annotations

import ctypes
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import llama_cpp
from llama_cpp import llama_cpp as bindings

from winnow_engine.platform import pip_command


@cache
def build_note() -> list[str]:
    """The lines of what winnow_llama/build.py notes: version, compiler, options and recipe; none in other builds."""
    note = Path(llama_cpp.__file__).parent / "lib" / "winnow-build.txt"
    return note.read_text().splitlines() if note.is_file() else []


def added_function(name: str, result: Any, arguments: Sequence[Any]) -> Callable[..., Any] | None:
    """The function of this name, with the types of ctypes for its result and arguments; None in other builds."""
    try:
        function = bindings._lib[name]
    except AttributeError:
        return None
    function.restype, function.argtypes = result, list(arguments)
    return function  # type: ignore[no-any-return]


def has_patches() -> bool:
    """Whether llama.cpp was built by winnow_llama."""
    return hasattr(bindings._lib, "winnow_layer_inputs")


def rebuild_command() -> str:
    """The command that builds llama.cpp anew, in a clone of Winnow."""
    uninstall = pip_command("uninstall", "--yes", "llama-cpp-python")
    if uninstall.startswith("pip "):
        return f"{uninstall} && .ci/install"
    builder = f"{shlex.quote(sys.executable)} engine/winnow_llama/build.py"
    return f"{pip_command('install', 'pip')} && {uninstall} && {builder}, in a clone of Winnow"


class SharedPrefix:
    """What all sequences of a memory share: the beginning of sequence 0. Builds by winnow_llama know it (trunk.h)."""

    def __init__(self, memory: int) -> None:
        """`memory` is that of a context; some kinds have no trunk, as recurrent ones."""
        self._memory = memory
        self._set = added_function("winnow_set_trunk", ctypes.c_bool, [ctypes.c_void_p, ctypes.c_int32])
        self.shared = self.share(0)

    def share(self, end: int) -> bool:
        """Have the other sequences see sequence 0 before position `end`. False if they have to be copies of it."""
        return self._set is not None and self._set(self._memory, end)


class Choices:
    """The likeliest tokens of a context's passes, found by the GPU that has its logits; `choices_of` makes it.

    16 rows of logits of Qwen2.5 are 9.7 MB, which take an H100 0.4 ms to copy, and the host 0.05 ms each to search.
    """

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
        """The likeliest token of each row asked for, -1 if none, until the next evaluation; None if it gave logits."""
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
