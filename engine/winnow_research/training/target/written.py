"""Questions about training projects with answers written by hand, a file a project in `answers/`.

question, language    as a developer asks who does not know the code
golds                 [path, first line, last line]: what somebody has to read; near misses if nothing answers
answer, facts         a right answer, and forms of each fact that it says; no facts if nothing answers
missing               what is honest where the golds are not shown
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from winnow_research.evaluation.cases import Gold
from winnow_research.training.projects import Project, load

_ANSWERS = Path(__file__).parent / "answers"


@dataclass(frozen=True)
class WrittenAnswer:
    """A question with its answer. Without facts nothing in the project answers it, and `golds` are near misses."""

    question: str
    language: str
    golds: tuple[Gold, ...]
    answer: str
    facts: tuple[tuple[str, ...], ...]
    missing: str | None = None


def written() -> Iterator[tuple[Project, list[WrittenAnswer]]]:
    """The projects with the answers about each."""
    for project in load():
        file = _ANSWERS / f"{project.name}.json"
        if file.is_file():
            yield project, [_answer(**entry) for entry in json.loads(file.read_text("utf-8"))]


def _answer(
    question: str,
    language: str,
    golds: list[tuple[str, int, int]],
    answer: str,
    facts: list[list[str]],
    missing: str | None = None,
) -> WrittenAnswer:
    said = tuple(tuple(forms) for forms in facts)
    return WrittenAnswer(question, language, tuple(Gold(*gold) for gold in golds), answer, said, missing)
