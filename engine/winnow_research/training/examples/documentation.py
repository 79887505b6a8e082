"""Documentation: a sentence or heading → its section, and a sentence that names code → that code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from winnow_research.evaluation.comments import without_markup
from winnow_research.evaluation.haystack import Place
from winnow_research.evaluation.tasks.cursor import is_distinctive
from winnow_research.training.examples.base import Example, ProjectTree
from winnow_research.training.wording import asked, keywords

_SUFFIXES = (".md", ".rst", ".txt", ".adoc", ".mdx")
_PROSE = re.compile(r"(?!```)[A-Z`][^|]*[a-z]")
_NAME = re.compile(r"``?([A-Za-z_][\w.]+)(?:\(\))?``?")
_WORDS = range(6, 61)
_TEXTS = (
    "Where does the documentation say this: {it}",
    "Where does the documentation say this: {it}",
    "{it}",
    "Is it documented that {it}",
    "What do the docs say about this: {it}",
)
_HEADINGS = ("{it}", "How does {it} work?", "Where is {it} documented?", "{project} {it}", "What about {it}?")


def examples(tree: ProjectTree) -> list[Example]:
    """Up to three questions for each section."""
    rng = tree.rng("documentation")
    found = []
    for place in tree.haystack.places:
        if not place.file.path.endswith(_SUFFIXES) or not 100 <= len(place.text) <= 8000:
            continue
        paragraphs = list(_paragraphs(place))
        if paragraphs:
            sentence, lines = rng.choice(paragraphs)
            said = keywords(sentence, rng, 8) if rng.random() < 0.25 else sentence
            text = rng.choice(_TEXTS).format(it=without_markup(said))
            found.append(Example("documentation", text, (place,), quoted=frozenset({(place, lines)})))
        if place.unit.name and len(place.unit.name) > 4 and rng.random() < 0.3:
            heading = place.unit.name.rsplit(".", 1)[-1]
            found.append(
                Example("documentation", rng.choice(_HEADINGS).format(it=heading, project=tree.project), (place,))
            )
        found += _about_code(tree, place, [sentence for sentence, _ in paragraphs])
    return found


def _about_code(tree: ProjectTree, place: Place, paragraphs: list[str]) -> list[Example]:
    """At most one example: a sentence that names code of the project. Half of them leave out the names."""
    rng = tree.rng(f"about/{place.file.path}/{place.number}")
    for sentence in paragraphs:
        golds = dict.fromkeys(gold for name in _NAME.findall(sentence) for gold in _definition(tree, name))
        if golds:
            text = _NAME.sub("it", sentence) if rng.random() < 0.5 else asked(sentence, tree.project, rng)
            return [Example("documented", text, tuple(golds), at=place)]
    return []


def _definition(tree: ProjectTree, name: str) -> list[Place]:
    places = tree.haystack.definitions.get(name.rsplit(".", 1)[-1], [])
    return places if len(places) == 1 and is_distinctive(name) else []


def _paragraphs(place: Place) -> Iterator[tuple[str, frozenset[int]]]:
    """The first sentence of each paragraph of prose in a section, with the lines of the paragraph."""
    lines = place.text.splitlines()
    for first, line in enumerate(lines):
        if _PROSE.match(line) and (not first or not lines[first - 1].strip()):
            end = next((n for n in range(first, len(lines)) if not lines[n].strip()), len(lines))
            sentence = re.split(r"(?<=[.!?])\s", " ".join(lines[first:end]))[0]
            rest = len(place.text) - len("\n".join(lines[first:end]))
            if len(sentence.split()) in _WORDS and rest >= 80 and not sentence.endswith(":"):
                yield sentence, frozenset(range(place.unit.start_line + first, place.unit.start_line + end))
