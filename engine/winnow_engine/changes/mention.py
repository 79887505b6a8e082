"""A change that a question begins with: `@changes`, `@staged`, `@branch`, `@commit`, `@changes:A..B`; or `@when`."""

from __future__ import annotations

import re

from winnow_engine.question import WHEN

_MENTION = re.compile(r"\s*@(?P<word>when|(?:changes|staged|branch|commit)(?::(?P<revision>[^\s:][^\s]*))?)(?=\s|$)")
_MEANING = {"changes": "working", "staged": "staged", "branch": "branch", "commit": "commit", "when": WHEN}


def without_mention(text: str) -> tuple[str, str | None]:
    """The question's other words, and the `changes` of a question; None if it begins with no mention.

    Within a sentence `@commit` is a decorator or the like.
    """
    match = _MENTION.match(text)
    if match is None:
        return text, None
    return text[match.end() :].strip(), match["revision"] or _MEANING[match["word"]]
