"""Rules that turn descriptions into questions as people ask them."""

from __future__ import annotations

import random
import re
import tomllib
from pathlib import Path

WORDS: dict[str, list[str]] = tomllib.loads((Path(__file__).parent / "words.toml").read_text("utf-8"))
"""Lists of words, by name."""

_FOR_VERBS = (
    "Where is the code that {does}?",
    "Which code {does}?",
    "How does it {do}?",
    "How does {project} {do}?",
    "Where does {project} {do}?",
    "what {does}",
    "I want to change how it {does}. Where is that done?",
    "How can I {do}?",
    "where do we {do}",
    "Is there anything that {does}?",
    "Why does it not {do} in my case?",
)
_FOR_NOUNS = (
    "Where is this: {it}?",
    "Which part of {project} is this: {it}",
    "Show me the code for this: {it}",
    "How is this done: {it}?",
    "{it}",
    "{it} - where is that implemented?",
)


def asked(sentence: str, project: str, rng: random.Random) -> str:
    """A question about what a sentence describes. The sentence usually begins with a verb, but need not."""
    sentence = sentence.strip().rstrip(".!:;").strip()
    first, _, rest = sentence.partition(" ")
    stem = infinitive(first)
    if stem is None:
        return rng.choice(_FOR_NOUNS).format(it=_lowered(sentence), project=project)
    does = f"{_third_person(stem)} {rest}"
    return rng.choice(_FOR_VERBS).format(does=does, do=f"{stem} {rest}", project=project)


def infinitive(word: str) -> str | None:
    """`return` for `Returns` or `Return`; None for a word that is not a verb with which descriptions begin."""
    return _INFINITIVES.get(word.lower())


def keywords(sentence: str, rng: random.Random, most: int = 6) -> str:
    """What one would type into a search box: up to `most` words of the sentence that carry meaning, in order."""
    words = [word for word in re.findall(r"[\w'-]+", sentence) if word.lower() not in WORDS["stop"] and len(word) > 2]
    chosen = sorted(rng.sample(range(len(words)), min(most, len(words))))
    return " ".join(words[index] for index in chosen).lower()


def split_name(name: str) -> str:
    """`read header` for `readHeader`, `read_header` and `READ_HEADER`."""
    return " ".join(re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)).lower()


def _lowered(sentence: str) -> str:
    """The sentence with a small first letter, unless its first word is a name or an acronym."""
    plain = re.match(r"[A-Z][a-z]*\b", sentence)
    return sentence[0].lower() + sentence[1:] if plain else sentence


def _third_person(stem: str) -> str:
    if stem.endswith(("s", "sh", "ch", "x", "z", "o")):
        return stem + "es"
    return stem[:-1] + "ies" if re.search(r"[^aeiou]y$", stem) else stem + "s"


_INFINITIVES = {form: verb for verb in WORDS["verbs"] for form in (verb, _third_person(verb))}
