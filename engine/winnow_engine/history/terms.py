"""Terms of questions, messages and code: words without their endings, and whole names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from winnow_engine.index.bm25 import stem, stems
from winnow_engine.index.words import words

_NAME = "="  # before a whole name, which no word begins with


def whole(name: str) -> str:
    """The term of a name as it is written."""
    return _NAME + name


_PLAIN_NAME = re.compile(r"[^\W\d]\w*")
_MOST_CHARACTERS = 4_000  # of a question
# Paths are bounded and begin where a word or a separator does, so that the time grows with the text alone.
_CODE = re.compile(
    r"`[^`]*`|\b_\w+|(?:(?<![\w/-])|(?=[/-]))[\w/-]{1,250}(?:(?:\.|_+|::)\w+)+"
    r"|\b[a-z]+[A-Z]\w*|\b[A-Z]+[a-z]+[A-Z]\w*|\b[A-Z]{2,}[a-z]\w*|\b\w+(?=\(\))"
)
_WEAK = 0.2  # weight of a word that says what happened, or to what kind of thing

_ASKING_WORDS = """
a an and any are as at been by can could date did do does ever first for from had has have how i in is it its last
lately latest me most newest our recent recently since so that the their there these they this those time to us was we
were what when which who why with would you commit commits version release
"""
_ADDED_WORDS = "add appear begin began create implement introduce start started"
_WEAK_WORDS = """
alter change edit happen modify touch update delete disappear drop gone removal remove stop class constant field file
function method module option type variable
"""
_ASKING = frozenset(_ASKING_WORDS.split())


@dataclass(frozen=True)
class Asked:
    """A question's stems with weights, and the names in it that are written like code.

    `alone` says that the only name is a plain word, `only_code` that there is nothing else to go by, `added` that it
    asks when something came.
    """

    terms: Mapping[str, float]
    code: tuple[str, ...]
    alone: bool
    only_code: bool
    added: bool


def asked_in(question: str) -> Asked:
    """The terms and names of a question. If all its words are words of asking, they are its terms."""
    question = question[:_MOST_CHARACTERS]
    code = [part.strip("`") for part in _CODE.findall(question)]
    rest = _CODE.sub(" ", question)
    plain, added = words(rest), set(stems(_ADDED_WORDS))
    weak = added.union(stems(_WEAK_WORDS))
    said = [word for word in plain if word not in _ASKING and stem(word) not in weak]
    terms: dict[str, float] = defaultdict(float)
    for word in plain:
        if word not in _ASKING:
            terms[stem(word)] += _WEAK if stem(word) in weak else 1.0
    for word in stems(" ".join(code)):
        terms[word] += 1.0
    alone = [name for name in _PLAIN_NAME.findall(rest) if name.lower() in said] if not code and len(said) == 1 else []
    return Asked(
        terms=dict(terms) or dict.fromkeys(map(stem, plain), 1.0),
        code=tuple(code or alone),
        alone=bool(alone),
        only_code=bool(code) and not said,
        added=not added.isdisjoint(map(stem, plain)),
    )
