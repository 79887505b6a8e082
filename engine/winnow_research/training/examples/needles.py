"""A fact hidden in an unrelated file → the unit in which it is hidden."""

from __future__ import annotations

import random
from collections.abc import Iterable

from winnow_engine.index.units import enclosing
from winnow_research.evaluation.haystack import Place
from winnow_research.evaluation.repositories import SourceFile
from winnow_research.training.examples.base import Example, ProjectTree
from winnow_research.training.wording import WORDS

_ONE_IN = 12  # files
_FACTS = (
    ("The {thing} of {owner} is {value}.", "What is the {thing} of {owner}?"),
    ("Remember: {value} is the {thing} of {owner}.", "Which {thing} belongs to {owner}?"),
    ("For {owner}, the {thing} to use is {value}.", "Tell me the {thing} for {owner}."),
    ("{owner} changed the {thing} to {value} last week.", "What did {owner} change the {thing} to?"),
    ("Note that {owner} has {value} as {thing}.", "{owner}: which {thing}?"),
)
_AS_LINES = ("{fact}", "# {fact}", "// {fact}", 'note = "{fact}"', "/* {fact} */")


def hide(files: Iterable[SourceFile], rng: random.Random) -> tuple[list[SourceFile], tuple[tuple[str, str, int], ...]]:
    """The files, one in twelve with a fact on a line of its own; and (question, path, 1-based line) of each fact."""
    shown, needles = [], []
    for file in files:
        if rng.randrange(_ONE_IN) == 0:
            lines = file.data.splitlines(keepends=True)
            at = rng.randrange(len(lines) + 1)
            fact, question = _fact(rng)
            before = b"".join(lines[:at])
            break_ = b"" if not before or before.endswith((b"\n", b"\r")) else b"\n"
            file = SourceFile(file.path, before + break_ + fact.encode() + b"\n" + b"".join(lines[at:]))
            needles.append((question, file.path, at + 1))
        shown.append(file)
    return shown, tuple(needles)


def examples(tree: ProjectTree) -> list[Example]:
    """A question for each hidden fact."""
    files = {file.path: file for file in tree.haystack.files}
    found = []
    for question, path, line in tree.needles:
        number = enclosing(files[path].units, line)
        found.append(Example("needle", question, (Place(files[path], number),)))
    return found


def _fact(rng: random.Random) -> tuple[str, str]:
    number = str(rng.randrange(10 ** rng.randint(2, 7)))
    value = rng.choice(
        (number, f"{rng.choice(WORDS['values'])}-{rng.choice(WORDS['values'])}", rng.choice(WORDS["values"]))
    )
    fact, question = rng.choice(_FACTS)
    words = {"thing": rng.choice(WORDS["things"]), "owner": rng.choice(WORDS["owners"]), "value": value}
    return rng.choice(_AS_LINES).format(fact=fact.format(**words)), question.format(**words)
