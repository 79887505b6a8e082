"""Code in Markdown, whatever backticks are in it."""

from __future__ import annotations

import re


def code(text: str) -> str:
    """The text as a code span."""
    fence = _fence(text)
    line = " ".join(text.split("\n"))
    return f"{fence} {line} {fence}" if len(fence) > 1 else f"`{line}`"


def block(text: str, language: str) -> str:
    """The text as a block of code."""
    fence = max(_fence(text), "```")
    return f"{fence}{language}\n{text}\n{fence}"


def _fence(text: str) -> str:
    return "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
