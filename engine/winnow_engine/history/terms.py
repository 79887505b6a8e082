"""The terms of messages and code: words without their endings, and whole names."""

from __future__ import annotations

import re

# Of letters that are not ASCII no case is known here, so they go on with a word.
_WORD = re.compile(r"[A-Za-z\u0080-\U0010ffff][a-z\u0080-\U0010ffff]+|[A-Z]+(?![a-z\u0080-\U0010ffff])|\d+")
_VOWEL = re.compile(r"[aeiouy]")
_NAME = "="  # before a whole name, which no word begins with


def words(text: str) -> list[str]:
    """`parseHTTPHeader_v2` → parse, HTTP, Header, 2. Single lower-case letters are left out."""
    return _WORD.findall(text)


def whole(name: str) -> str:
    """The term of a name as it is written."""
    return _NAME + name


def stem(word: str) -> str:
    """The common part of `changes`, `Changed` and `changing`."""
    word = word.lower()
    if len(word) > 4 and word.endswith("ies"):
        word = f"{word[:-3]}y"
    elif len(word) > 3 and word.endswith("s") and word[-2] not in "sui":
        word = word[:-1]
    for ending in ("ing", "ed"):
        if len(word) > len(ending) + 1 and word.endswith(ending) and _VOWEL.search(word[: -len(ending)]):
            word = word[: -len(ending)]
            break
    word = word[:-1] if len(word) > 2 and word.endswith("e") else word
    return word[:-1] if len(word) > 2 and word[-1] == word[-2] else word
