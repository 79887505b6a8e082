"""Sub-questions: what a question asks for in several steps, such as "How is X read, and where is it written?"."""

from __future__ import annotations

import re

ABOUT_ONE_THING = 2
"""The number of sub-questions that are mostly about one thing ("How is X read, and where is it checked?")."""

_MOST = 8  # a text that falls into more is no list of questions but a pasted log
_FEWEST_WORDS = 3
_ASKING = r"(?=(?:how|what|where|which|who|why|when)\b)"
_BORDER = re.compile(rf"(?<=[.?!;])\s+|\s*\(\d+\)\s*|\n+|,?\s+and\s+{_ASKING}|,\s+{_ASKING}", re.IGNORECASE)


def subquestions_of(question: str) -> tuple[str, ...]:
    """Two to eight sub-questions of at least three words, in order. Empty if the text has fewer than two, or more."""
    found = [part.strip(" ;,") for part in _BORDER.split(question)]
    found = [part for part in found if len(part.split()) >= _FEWEST_WORDS and not part.endswith(":")]
    return tuple(found) if 1 < len(found) <= _MOST else ()
