"""Numbers in sentences."""

from __future__ import annotations

from datetime import UTC, datetime


def counted(number: int, noun: str) -> str:
    """A number with its noun, such as `1 file` or `2,000 more files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def day(seconds: int) -> str:
    """The date, in UTC, of a time in seconds since the epoch, such as `2026-11-26`."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()
