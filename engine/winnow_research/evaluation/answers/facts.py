"""Multiple-choice questions about facts that code states: definitions, constants, and what functions return."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from winnow_engine.question import Question
from winnow_research.evaluation.answers.items import LETTERS, Item, chooses
from winnow_research.evaluation.haystack import Haystack, Place
from winnow_research.evaluation.tasks.cursor import is_distinctive

_MOST_TOKENS = 24
_LITERAL = r"""(?:-?\d[\w.]*|"[^"\n]{1,40}"|'[^'\n]{1,40}')"""
_CONSTANT = re.compile(
    rf"""^[ \t]*(?:\#define\s+|[\w<>:&'\ \t]*?\b) ([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b
    (?:[^=\n]*=|[ \t]) [ \t]* ({_LITERAL}) [;,]?[ \t]*$""",
    re.MULTILINE | re.VERBOSE,
)
_CASE = re.compile(
    rf"""\bcase\s+([\w.:]+|{_LITERAL})\s*:\s*return\s+([^;\n]+?)\s*[;\n]
    | ([\w:]+|{_LITERAL})\s*=>\s*([\w:."']+)\s*,
    | ==\s*({_LITERAL})\s*:\s*return\s+([^\n]+)""",
    re.VERBOSE,
)
_RETURN = re.compile(r"\breturn\s+([^\n]*?);?\s*(?:\}|$)", re.MULTILINE)
_WRONG = len(LETTERS) - 1
_LONGEST_VALUE = 60  # characters


@dataclass(frozen=True, slots=True)
class Fact:
    """A question with its answer, and at least three wrong answers of the same kind."""

    test: str
    text: str
    answer: str
    wrong: tuple[str, ...]


def items(haystack: Haystack, rng: random.Random, most: int) -> list[Item]:
    """At most `most` questions about the haystack's own code, as evenly spread over the kinds as possible."""
    kinds = [_shuffled(found(haystack), rng) for found in (definitions, constants, cases, returns)]
    chosen: list[Fact] = []
    while any(kinds) and len(chosen) < most:
        chosen += [kind.pop() for kind in kinds if kind]
    return [_item(fact, rng) for fact in chosen[:most]]


def definitions(haystack: Haystack) -> Iterator[Fact]:
    """Which file defines a name? Only one file does; the other options are files of the same language."""
    paths = [file.path for file in haystack.files]
    for name, places in haystack.definitions.items():
        path = places[0].file.path
        if len(places) == 1 and is_distinctive(name) and haystack.owns(places[0].file):
            wrong = [one for one in paths if one != path and PurePosixPath(one).suffix == PurePosixPath(path).suffix]
            if len(wrong) >= _WRONG:
                yield Fact("choice: file", f"Which file defines `{name}`?", path, tuple(wrong))


def constants(haystack: Haystack) -> Iterator[Fact]:
    """What is the value of a constant? It is set once; the other options are values of the same type."""
    found = [match.groups() for place in _own(haystack) for match in _CONSTANT.finditer(place.text)]
    times = Counter(name for name, _ in found)
    values = list(dict.fromkeys(value for _, value in found))
    for name, value in found:
        wrong = tuple(one for one in values if one != value and _is_text(one) == _is_text(value))
        if times[name] == 1 and len(wrong) >= _WRONG:
            yield Fact("choice: constant", f"What is the value of the constant `{name}`?", value, wrong)


def cases(haystack: Haystack) -> Iterator[Fact]:
    """What does a function return in one of its cases? The other options are what it returns in other cases."""
    for place in _own(haystack):
        found: dict[str, str] = {}
        for match in _CASE.finditer(place.text):
            wanted, value = filter(None, match.groups())
            if _whole(value):
                found.setdefault(wanted, value)
        for wanted, value in found.items():
            wrong = tuple({one: None for one in found.values() if one != value})
            if is_distinctive(place.simple_name) and len(wrong) >= _WRONG:
                yield Fact("choice: return", f"What does `{place.simple_name}` return for `{wanted}`?", value, wrong)


def returns(haystack: Haystack) -> Iterator[Fact]:
    """What does a function with one `return` return? The other options are what other such functions return."""
    found = {place: value for place in _own(haystack) if (value := _only_return(place))}
    for place, value in found.items():
        alike = {other: None for peer, other in found.items() if peer.language == place.language and other != value}
        named = is_distinctive(place.simple_name) and len(haystack.definitions[place.simple_name]) == 1
        if named and place.is_function and len(alike) >= _WRONG:
            yield Fact("choice: return", f"What does `{place.simple_name}` return?", value, tuple(alike))


def _only_return(place: Place) -> str | None:
    """The expression that follows a unit's only `return`, if it is short and on one line."""
    found = _RETURN.findall(place.text)
    return found[0] if len(found) == 1 and _whole(found[0]) and len(found[0]) <= _LONGEST_VALUE else None


def _whole(expression: str) -> bool:
    """Whether an expression is complete: brackets and quotes come in pairs, and it does not end in an operator."""
    pairs = all(expression.count(one) == expression.count(other) for one, other in ("()", "[]", "{}"))
    ended = re.search(r"[\w)\]}\"'`]\s*$", expression) is not None
    return ended and pairs and not any(expression.count(quote) % 2 for quote in "\"'`")


def _own(haystack: Haystack) -> Iterator[Place]:
    return (place for place in haystack.places if haystack.owns(place.file))


def _is_text(literal: str) -> bool:
    return literal[0] in "\"'"


def _shuffled(facts: Iterator[Fact], rng: random.Random) -> list[Fact]:
    found = list(facts)
    rng.shuffle(found)
    return found


def _item(fact: Fact, rng: random.Random) -> Item:
    options = [fact.answer, *rng.sample(fact.wrong, _WRONG)]
    rng.shuffle(options)
    letter = LETTERS[options.index(fact.answer)]
    return Item(fact.test, Question(_text(fact.text, options)), chooses(letter), _MOST_TOKENS)


def _text(text: str, options: Sequence[str]) -> str:
    lines = [f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=True)]
    return "\n".join([text, *lines, "Answer with the letter of the right option only."])
