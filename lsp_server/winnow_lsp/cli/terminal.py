"""The terminal: standard streams, however they are found, Ctrl-C, and text of others without control characters.

Streams may be closed, in another encoding, or have a reader that leaves early.
"""

from __future__ import annotations

import json
import locale
import os
import re
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

import click

if TYPE_CHECKING:
    from winnow_engine.core import Cancellation

READER_LEFT = 141  # exit code of a program that SIGPIPE ends: 128 and the signal's number
_STREAMS = ("stdin", "stdout", "stderr")

_NOT_ESCAPED = re.compile(r"[\x7f-\x9f\ud800-\udfff]")
_OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


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
    """Run the command anew, in UTF-8 as repositories' names are, where Python would decode paths otherwise."""
    if sys.getfilesystemencoding() != "utf-8":
        os.environ["PYTHONUTF8"] = "1"  # for processes that this one starts
        os.execv(sys.executable, [sys.orig_argv[0], "-X", "utf8", *sys.orig_argv[1:]])


def is_interactive() -> bool:
    """True where a person can be asked: standard input and messages belong to a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


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


@contextmanager
def cancel_on_interrupt() -> Iterator[Cancellation]:
    """A cancellation that the first Ctrl-C sets; a second one interrupts at once."""
    from winnow_engine.core import Cancellation

    cancellation = Cancellation()

    def on_interrupt(_signal: int, _frame: FrameType | None) -> None:
        if cancellation.cancelled:
            raise KeyboardInterrupt
        cancellation.cancel()

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield cancellation
    finally:
        signal.signal(signal.SIGINT, before)


def can_raise() -> bool:
    """True if somebody reads a terminal that has raised digits; a pipe gets plain text."""
    return sys.stdout.isatty() and (sys.stdout.encoding or "").lower() == "utf-8"


def harmless(text: str) -> str:
    """The text with escapes for what a terminal would obey: every control character but line ends and tabs."""
    return _OBEYED.sub(lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))


def show_json(document: Any, indent: int | None = None) -> None:
    """Print a JSON document. JSON itself has escapes for some control characters, and these for all others."""
    escaped = (sys.stdout.encoding or "utf-8").lower() != "utf-8"
    text = json.dumps(document, indent=indent, ensure_ascii=escaped)
    click.echo(_NOT_ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def show(text: str, **options: Any) -> None:
    """Print such text, with the options of `click.echo`."""
    click.echo(harmless(text), **options)
