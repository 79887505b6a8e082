"""Text that is piped into a question."""

from __future__ import annotations

import os
import stat
import sys
from threading import Timer

import click

_QUIET_S = 2.0


def with_input(question: str | None) -> str | None:
    """A question with what a pipe or a file on standard input adds to it; `-`, or none, is that text alone."""
    piped = _read() if question == "-" or _has_input() else ""
    if not piped.strip():
        return None if question == "-" else question
    if question in (None, "-"):
        return piped
    fence = "```"
    while fence in piped:
        fence += "`"
    return f"{question}\n\n{fence}\n{piped.rstrip()}\n{fence}"


def _has_input() -> bool:
    """True for a pipe or a file. A socket or /dev/null is what programs that have nothing to say pass on."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _read() -> str:
    """All of standard input, and a word where that takes long: a pipe that nobody closes never ends."""
    said = "winnow: reading the rest of the question from standard input; < /dev/null if there is none"
    timer = Timer(_QUIET_S, lambda: click.echo(said, err=True))
    timer.daemon = True
    timer.start()
    try:
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    finally:
        timer.cancel()
