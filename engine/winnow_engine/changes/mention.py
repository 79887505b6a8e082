"""A change that a question begins with: `@changes`, `@staged`, `@branch`, `@commit`, or `@changes:A..B`."""

from __future__ import annotations

import re

_MENTION = re.compile(r"\s*@(?P<word>changes|staged|branch|commit)(?::(?P<revision>[^\s:][^\s]*))?(?=\s|$)")
_MEANING = {"changes": "working", "staged": "staged", "branch": "branch", "commit": "commit"}


def without_mention(text: str) -> tuple[str, str | None]:
    """The question's other words, and what changed as `sides_of` understands it; None if it begins with no mention.

    Within a sentence `@commit` is a decorator or the like.
    """
    match = _MENTION.match(text)
    if match is None:
        return text, None
    return text[match.end() :].strip(), match["revision"] or _MEANING[match["word"]]
