"""llama.cpp's log, kept for error messages instead of printed. It is one for the whole process."""

from __future__ import annotations

from collections import deque

import llama_cpp

_LOG_LEVEL_ERROR = 4

_errors: deque[str] = deque(maxlen=4)


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _keep_errors(level: int, text: bytes, _user_data: int) -> None:
    if level == _LOG_LEVEL_ERROR:
        _errors.append(text.decode("utf-8", "replace").strip())


def silence() -> None:
    """Send llama.cpp's log to `_errors` from here on; without this it prints to stderr."""
    llama_cpp.llama_log_set(_keep_errors, None)
    _errors.clear()


def last_errors() -> str:
    """The last few error lines since `silence`, as one string."""
    return "; ".join(_errors) or "llama.cpp gave no reason"
