"""Text that is piped into a question."""

from __future__ import annotations

import os
import re
import select
import stat
import sys

import click

_FIRST_BYTE_S = 10.0
"""Programs that have nothing to say may pass on a pipe that nobody ever closes."""


def with_input(question: str | None) -> str | None:
    """A question with what a pipe or a file on standard input adds to it; `-`, or none, is that text alone."""
    piped = _read() if question == "-" or _has_text() else ""
    if not piped.strip():
        return None if question == "-" else question
    if question in (None, "-"):
        return piped
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", piped))])
    return f"{question}\n\n{fence}\n{piped.rstrip()}\n{fence}"


def _has_input() -> bool:
    """True for a pipe or a file. A socket or /dev/null is what programs that have nothing to say pass on, too."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _has_text() -> bool:
    """True once there is input, False if none begins in time."""
    if not _has_input():
        return False
    try:
        begins = bool(select.select([sys.stdin], [], [], _FIRST_BYTE_S)[0])
    except OSError:  # Windows, which waits for sockets only
        return True
    if not begins:
        click.echo(f"winnow: nothing was piped in for {_FIRST_BYTE_S:.0f} s: asking without it", err=True)
    return begins


def _read() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace")
