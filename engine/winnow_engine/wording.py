"""Numbers in sentences."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number with its noun, such as `1 file` or `2,000 more files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
