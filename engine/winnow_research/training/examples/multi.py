"""Two to five descriptions in one question → all of the functions described."""

from __future__ import annotations

from itertools import groupby

from winnow_research.training.examples.base import Example, ProjectTree
from winnow_research.training.examples.describe import first_question

_FEWEST, _MOST = 2, 5


def examples(tree: ProjectTree) -> list[Example]:
    """Questions about documented functions of one file, so that a batch holds them all. Each function occurs once."""
    rng = tree.rng("multi")
    found = []
    for _, group in groupby(tree.described, key=lambda one: one.place.file.path):
        left = [(one, text) for one in group if (text := first_question(tree, one))]
        rng.shuffle(left)
        while len(left) >= _FEWEST:
            size = min(rng.randint(_FEWEST, _MOST), len(left))
            chosen, left = left[:size], left[size:]
            found.append(
                Example(
                    "multi",
                    _question([text for _, text in chosen], rng.random()),
                    tuple(one.place for one, _ in chosen),
                    quoted=frozenset((one.place, one.lines) for one, _ in chosen),
                )
            )
    return found


def _question(parts: list[str], chance: float) -> str:
    plain = [part.rstrip(".") for part in parts]
    if chance < 0.4:
        return f"Which code does each of these: {'; '.join(f'({n}) {part}' for n, part in enumerate(plain, 1))}?"
    if chance < 0.7:
        return f"Where is each of these done? {' '.join(f'- {part}.' for part in plain)}"
    return f"How does it work: {', and then '.join(plain)}?"
