"""What a question about a history asks: terms and names with their weights, and what is to have happened to them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from winnow_engine.history.terms import stem, whole, words

_NAME = re.compile(r"[^\W\d]\w*")
_CODE = re.compile(r"`[^`]*`|\w+[_.:]+\w+|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z]+[A-Z]\w*|\w+\(\)")
_LATEST = re.compile(r"\b(?:last|latest|lately|most recent|recently|newest)\b", re.IGNORECASE)
_PLAIN_NAME = 0.5  # weight of a plain word as a name, beside one in code

# Words of the asking, not of what is asked about; those that say what happened weigh little.
_ASKING_WORDS = """
a an and any are as at been by can could date did do does ever first for from had has have how i in is it its last
lately latest me most newest our recent recently since so that the their there these they this those time to us was we
were what when which who why with would you commit commits version release
"""
_ASKING = frozenset(_ASKING_WORDS.split())
_ADDED = "add appear begin began create implement introduce start started"
_REMOVED = "delete disappear drop gone removal remove stop"
_CHANGED = "alter change edit happen modify touch update"
_KINDS = {
    **dict.fromkeys(map(stem, _ADDED.split()), "added"),
    **dict.fromkeys(map(stem, _REMOVED.split()), "removed"),
    **dict.fromkeys(map(stem, _CHANGED.split()), ""),
}
_OF_KIND = 0.2


@dataclass(frozen=True)
class Asked:
    """What a question asks.

    `terms` are stems, and `names` the terms of names as they are written, with weights. `kinds` are those of "added"
    and "removed" that it asks for; `latest` says that it asks for the last time.
    """

    terms: Mapping[str, float]
    names: Mapping[str, float]
    kinds: tuple[str, ...]
    latest: bool


def asked_in(question: str) -> Asked:
    """What a question asks. Words in code count whatever they are; one of nothing but words of the asking, by these."""
    code = [part.strip("`") for part in _CODE.findall(question)]
    rest = _CODE.sub(" ", question)
    plain = [word.lower() for word in words(rest)]
    terms: dict[str, float] = defaultdict(float)
    for word in plain:
        if word not in _ASKING:
            terms[stem(word)] += _OF_KIND if stem(word) in _KINDS else 1.0
    for word in words(" ".join(code)):
        terms[stem(word)] += 1.0
    kinds = {kind for word in plain if (kind := _KINDS.get(stem(word)))}
    found = dict(terms) or dict.fromkeys(map(stem, plain), 1.0)
    return Asked(found, _names(code, rest), tuple(sorted(kinds)), _LATEST.search(question) is not None)


def _names(code: list[str], rest: str) -> dict[str, float]:
    """The names in a question; a plain word of the asking is none."""
    plain = [name for name in _NAME.findall(rest) if name.lower() not in _ASKING and stem(name) not in _KINDS]
    in_code = [name for part in code for name in _NAME.findall(part)]
    return dict.fromkeys(map(whole, plain), _PLAIN_NAME) | dict.fromkeys(map(whole, in_code), 1.0)
