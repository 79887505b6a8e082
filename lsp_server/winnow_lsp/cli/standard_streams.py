"""Standard streams as a command may find them: closed, in another encoding, or with a reader that leaves early."""

from __future__ import annotations

import locale
import os
import select
import sys
from typing import TextIO

READER_LEFT = 141
"""Exit code of a program that SIGPIPE ends: 128 and the signal's number."""
_STREAMS = ("stdin", "stdout", "stderr")


def prepare_streams() -> None:
    """Open streams that are closed, and have characters that an encoding lacks written as escapes.

    Otherwise the next file that is opened, such as the index, is taken for the closed stream.
    """
    for name in _STREAMS:
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "r" if name == "stdin" else "w"))
    if not os.environ.get("COLUMNS", "").strip("0"):  # no width at all: Rich would print nothing
        os.environ.pop("COLUMNS", None)
    encoding = locale.getencoding()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            latin = sys.flags.utf8_mode and not _is_ascii_or_utf8(encoding) and "PYTHONIOENCODING" not in os.environ
            stream.reconfigure(encoding=encoding if latin else None, errors="backslashreplace")


def use_utf8() -> None:
    """Run the command anew where Python would take the bytes of paths and arguments for characters of another encoding.

    Repositories have UTF-8 names, whatever the terminal shows.
    """
    if sys.getfilesystemencoding() != "utf-8":
        os.environ["PYTHONUTF8"] = "1"  # for processes that this one starts
        os.execv(sys.executable, [sys.orig_argv[0], "-X", "utf8", *sys.orig_argv[1:]])


def drop_unread_output() -> bool:
    """True if a reader of the output has left, for which libraries end the program. Nothing more is written to it."""
    left = [stream for stream in (sys.__stdout__, sys.__stderr__) if stream is not None and _has_no_reader(stream)]
    for stream in left:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return bool(left)


def _has_no_reader(stream: TextIO) -> bool:
    if not hasattr(select, "poll"):  # Windows
        return False
    poll = select.poll()
    poll.register(stream.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _is_ascii_or_utf8(encoding: str) -> bool:
    """True where UTF-8 is written: ASCII, too, is what a system without a locale says."""
    return encoding.lower().replace("-", "") in ("utf8", "ascii", "ansi_x3.41968", "usascii", "646")
