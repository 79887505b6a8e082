"""Sub-questions: the entries of a question that is a list, such as "(1) How is X read? (2) Where is Y written?".

Sentences and clauses are not asked by themselves: they lack what the others say (docs/lab/scoring.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from winnow_engine.question import without_pleasantries

_MOST = 8  # a text that falls into more is no list of questions but a pasted log
_FEWEST_WORDS = 3
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
# Before an entry, and behind a question that ends its line. None in code.
_BORDERS = re.compile(
    rf"{_FENCED.pattern}|(?P<border>^[^\S\n]*(?:[-*•]|\d+[.)])\s+|(?:(?<=\s)|^)\(\d+\)\s*|(?<=[?？])\s*\n\s*)",
    re.DOTALL | re.MULTILINE,
)
_LETTERS = re.compile("[\u3041-\u9fff]{2}|[^\\s\u3041-\u9fff]+")
_NAMES_CODE = re.compile(r"`[^`\n]+`|\w\(\)|\w_[^\W_]")


def subquestions_of(question: str) -> tuple[str, ...]:
    """Two to eight sub-questions of at least three words, in order. Empty if the text has fewer than two, or more.

    Shorter entries that name no code belong to the one before, or the first to the next.
    """
    text, found = without_pleasantries(question), list[tuple[int, int]]()
    parts = list(_parts(text))
    for start, end in parts if len(parts) <= _MOST * _MOST else ():
        part, before = text[start:end], text[slice(*found[-1])] if found else ""
        if found and (_is_short(before) or (_is_short(part) and not _NAMES_CODE.search(part))):
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return tuple(text[start:end].strip(" ;,\n") for start, end in found) if 1 < len(found) <= _MOST else ()


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of the text's entries."""
    numbered = "(1)" in text and "(2)" in text
    found = (match for match in _BORDERS.finditer(text) if match["border"] is not None)
    borders = (match.span() for match in found if numbered or not match[0].strip().startswith("("))
    cuts = [0, *(place for border in borders for place in border), len(text)]
    for start, end in zip(cuts[::2], cuts[1::2], strict=True):
        part = text[start:end].strip(" ;,\n")
        if part and not part.endswith(":"):
            yield start, end


def _is_short(part: str) -> bool:
    return len(_LETTERS.findall(_FENCED.sub("", part))) < _FEWEST_WORDS
