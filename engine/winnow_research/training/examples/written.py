"""A question that somebody wrote about the project → the units that hold the lines named with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.units import enclosing
from winnow_research.evaluation.cases import Case
from winnow_research.evaluation.haystack import Place
from winnow_research.evaluation.repositories import PinnedRepository
from winnow_research.evaluation.tasks import languages, real
from winnow_research.training.examples.base import Example, ProjectTree


def cases(repository: PinnedRepository) -> list[Case]:
    """The written questions about a repository, and those in seven languages that have golds. `task` is the kind."""
    found = [real.case_of("written", repository, one) for one in real.load(repository)]
    return found + [replace(case, task="translated") for case in languages.cases(repository) if case.golds]


def examples(tree: ProjectTree) -> list[Example]:
    """An example for each case of the tree, unless it lacks a file of the golds."""
    files = {file.path: file for file in tree.haystack.files}
    return [
        Example(case.task, case.question.text, tuple(dict.fromkeys(_places(files, case))))
        for case in tree.cases
        if all(gold.path in files for gold in case.golds)
    ]


def _places(files: dict[str, IndexedFile], case: Case) -> Iterator[Place]:
    for gold in case.golds:
        units = files[gold.path].units
        for number in range(enclosing(units, gold.start_line), enclosing(units, gold.end_line) + 1):
            yield Place(files[gold.path], number)
