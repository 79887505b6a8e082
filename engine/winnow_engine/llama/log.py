"""llama.cpp's log, kept for error messages instead of printed. The whole process has one."""

from __future__ import annotations

import threading
from collections import deque

import llama_cpp

_LOG_LEVEL_ERROR = 4
_MOST_LINES = 4


class _Errors(threading.local):
    """llama.cpp logs on the thread that called it. Drafter and target load on two threads at once."""

    def __init__(self) -> None:
        self.lines: deque[str] = deque(maxlen=_MOST_LINES)


_errors = _Errors()


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _keep_errors(level: int, text: bytes, _user_data: int) -> None:
    if level == _LOG_LEVEL_ERROR:
        _errors.lines.append(text.decode("utf-8", "replace").strip())


def silence() -> None:
    """Keep llama.cpp's errors of this thread from now on. Without this, llama.cpp prints its whole log to stderr."""
    llama_cpp.llama_log_set(_keep_errors, None)
    _errors.lines.clear()


def last_errors() -> str:
    """This thread's last few error lines since `silence`, as one string."""
    return "; ".join(_errors.lines) or "llama.cpp gave no reason"
