"""Names that others chose, within Markdown: a file's name or a heading makes no link, and loads no picture."""

from __future__ import annotations

import re

_MEANS_SOMETHING = re.compile(r"[\\`\[\]<>]")


def code(text: str) -> str:
    """The text as a code span, whatever backticks are in it."""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    line = " ".join(text.split("\n"))
    return f"{fence} {line} {fence}" if len(fence) > 1 else f"`{line}`"


def plain(text: str) -> str:
    """The text with escapes for what would begin or end a link or tag."""
    return _MEANS_SOMETHING.sub(r"\\\g<0>", text)
