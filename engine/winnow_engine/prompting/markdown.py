"""Code in Markdown, whatever backticks are in it, and back; lines without their marks."""

from __future__ import annotations

import re
from collections.abc import Iterator

FENCE = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<info>.*)", re.DOTALL)
"""A line that begins a block of code, or ends it."""
MARKER = re.compile(r"[ \t>]*(?:(?:[-*•+]|\d+[.)])[ \t]+)?")  # of a quotation or list item
_RUN = re.compile(rf"{MARKER.pattern}(?P<run>`{{3,}}+(?=[^`]*$)|~{{3,}})")
_LED_RUN = re.compile(r"(?:(?<=[:：*_])|(?<=[:：*_] ))(?P<run>`{3,}+)[\w+#.-]*\s*$")  # as in "**Fix:** ```python"
_LEAD = re.compile(r"\A(?:[-*#]+(?:\s+|\Z))+")
_WRAPPED = re.compile(  # with apostrophes and inner pairs of the same mark, as in `"Fix the "name" field"`
    r"""(?P<mark>\*{1,3}|[`"'])"""
    r"(?P<text>(?:(?!(?P=mark)).|(?<=\w)(?P=mark)(?<=')(?=\w)|(?<=\s)(?P=mark)(?=\S)(?:(?!(?P=mark)).)+(?P=mark))+)"
    r"(?P=mark)",
    re.DOTALL,
)


def code(text: str) -> str:
    """The text as a code span."""
    fence = _fence(text)
    line = " ".join(text.split("\n"))
    return f"{fence} {line} {fence}" if len(fence) > 1 else f"`{line}`"


def block(text: str, language: str) -> str:
    """The text as a block of code."""
    fence = max(_fence(text), "```")
    return f"{fence}{language}\n{text}\n{fence}"


def unwrapped(text: str) -> str:
    """Text without the marks of a heading or list before it, and those of emphasis, code or a quotation around it."""
    text = _LEAD.sub("", text.strip())
    while wrapped := _WRAPPED.fullmatch(text):
        text = wrapped["text"].strip()
    return text


def _fence(text: str) -> str:
    return "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)


def fence_after(line: str, fence: str) -> str:
    """The fence open after `line`, given the one before, "" for none. A run as long, alone on its line, closes it."""
    match = _RUN.match(line) or (None if fence else _LED_RUN.match(line, max(line.find("```"), 0)))
    run = match["run"] if match else ""
    closes = run.startswith(fence) and line.strip("> \t\r\n") == run
    return run if not fence else "" if closes else fence


def fenced(content: str) -> Iterator[tuple[str, str, str]]:
    """(opening fence, text, closing fence) for each block and each text between blocks; together the whole content."""
    text, opening, fence = list[str](), "", ""
    for line in content.splitlines(keepends=True):
        match = FENCE.fullmatch(line)
        if not fence and match and "`" not in match["info"]:  # which would be code within a line
            if text:
                yield "", "".join(text), ""
            text, opening, fence = [], line, match["fence"]
        elif fence and match and match["fence"].startswith(fence) and not match["info"].strip():
            yield opening, "".join(text), line
            text, opening, fence = [], "", ""
        else:
            text.append(line)
    if text or opening:
        yield opening, "".join(text), ""
