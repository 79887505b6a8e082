"""Code at the cursor → the definitions it uses: a whole function, a test, or a few lines with a call in them."""

from __future__ import annotations

from winnow_engine.core import UnitKind
from winnow_engine.question import CodeAtCursor
from winnow_research.evaluation.haystack import Place, is_test
from winnow_research.evaluation.tasks.cursor import is_distinctive
from winnow_research.training.examples.base import Example, ProjectTree, fair

_MOST_GOLDS = 6
_DEFINED = (UnitKind.FUNCTION, UnitKind.METHOD, UnitKind.CLASS_HEADER)
_WHOLE = (
    "Explain this code.",
    "Explain this code.",
    "Explain `{name}`: what it does, how, and what it relies on.",
    "Explain the selected code: what it does, how, and what it relies on.",
    "What does this do?",
    "What does {name} rely on?",
    "Is there a bug in here?",
    "How would I change this safely?",
)
_TEST = ("What does this test exercise?", "Which code does this test cover?", "Why could this test fail?")
_LINES = (
    "What happens here?",
    "Explain the selected code: what it does, how, and what it relies on.",
    "Explain this code.",
    "What does {called} do here?",
    "Where is {called} implemented?",
)
_AROUND = range(1, 6)  # lines before and after a call


def examples(tree: ProjectTree) -> list[Example]:
    """At most one question for each function. Half of the questions are about a few of its lines only."""
    rng = tree.rng("cursor")
    found = []
    for place, names in _used(tree).items():
        golds = {name: tree.haystack.definitions[name][0] for name in names}
        if not 1 <= len(set(golds.values())) <= _MOST_GOLDS:
            continue
        if rng.random() < 0.5:
            texts = _TEST if is_test(place.file) else _WHOLE
            text = rng.choice(texts).format(name=place.unit.name or "this")
            found.append(_example(text, place, place.text, golds))
        else:
            called = rng.choice(sorted(golds))
            lines = _lines_around(place, called, rng.choice(_AROUND))
            seen = {name: gold for name, gold in golds.items() if name in lines}
            found.append(_example(rng.choice(_LINES).format(called=called), place, lines, seen))
    return found


def _example(text: str, place: Place, code: str, golds: dict[str, Place]) -> Example:
    unique = tuple(dict.fromkeys(golds.values()))
    return Example("cursor", text, unique, at=place, code=CodeAtCursor(code, place.language))


def _lines_around(place: Place, name: str, around: int) -> str:
    lines = place.text.splitlines(keepends=True)
    index = next(index for index, line in enumerate(lines) if name in line)
    return "".join(lines[max(0, index - around) : index + around + 1])


def _used(tree: ProjectTree) -> dict[Place, list[str]]:
    """For each function, tests included, the names it uses that exactly one other unit of its language defines."""
    found: dict[Place, list[str]] = {}
    for file in tree.haystack.files:
        for name, number in file.analysis.symbols.references:
            place = Place(file, number)
            if place.is_code and fair(place) and _leads_elsewhere(tree, place, name) and name in place.text:
                found.setdefault(place, []).append(name)
    return found


def _leads_elsewhere(tree: ProjectTree, place: Place, name: str) -> bool:
    defined = tree.haystack.definitions.get(name, [])
    if len(defined) != 1 or defined[0] == place or not is_distinctive(name):
        return False
    return defined[0].unit.kind in _DEFINED and fair(defined[0]) and defined[0].language == place.language
