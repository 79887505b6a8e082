"""A doc comment → its function. Sentences are asked as they are, as questions, and as search words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from winnow_research.evaluation.comments import Described, first_sentence
from winnow_research.training.examples.base import Example, ProjectTree
from winnow_research.training.wording import asked, keywords

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])|\n\s*\n|\n\s*(?=[@\\:]\w|[-*] )")
_BOILERPLATE = re.compile(
    r"copyright|licen[cs]e|todo|fixme|eslint|deprecated|see also|^see |^[@\\:]|>>>|^[-=*_ ]+$", re.I
)
_WORDS = range(4, 41)


def examples(tree: ProjectTree) -> list[Example]:
    """Up to four questions for each documented function."""
    rng = tree.rng("describe")
    found = []
    for one in tree.described:
        quoted = frozenset({(one.place, one.lines)})
        said = list(sentences(one.sentence))
        plain = first_sentence(one.sentence, one.place.simple_name)
        texts = [plain] if plain else []
        if said:
            texts.append(asked(said[0], tree.project, rng))
            texts.append(asked(rng.choice(said[1:]), tree.project, rng) if said[1:] else keywords(said[0], rng))
        if len(said) > 2:
            texts.append(" ".join(said[:3]))
        found += [Example("describe", text, (one.place,), quoted=quoted) for text in texts if len(text) > 12]
    return found


def sentences(documentation: str) -> Iterator[str]:
    """The sentences of a documentation that describe something, each on one line."""
    for part in _SENTENCE.split(documentation.strip()):
        sentence = " ".join(part.split())
        if len(sentence.split()) in _WORDS and not _BOILERPLATE.search(sentence):
            yield sentence


def first_question(tree: ProjectTree, one: Described) -> str | None:
    """The first sentence of a function's documentation, without the function's name; None if there is no fair one."""
    return first_sentence(one.sentence, one.place.simple_name) or next(sentences(one.sentence), None)
