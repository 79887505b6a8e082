"""Hand-written questions in seven languages about whole repositories, a third of which nothing answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from winnow_research.evaluation.cases import Case, Scene
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.repositories import PinnedRepository
from winnow_research.evaluation.tasks.base import EvaluationTask
from winnow_research.evaluation.tasks.real import case_of, question_of

QUESTIONS = Path(__file__).parents[1] / "languages"


def scenes(corpus: Corpus, _tokens: int) -> Iterator[Scene]:
    """A scene for each repository with questions: the whole repository. Its figures are by the language of questions.

    `NAME.json` has a list of questions, each with its golds and its text by language.
    """
    for repository in corpus.subjects:
        if asked := tuple(cases(repository)):
            yield Scene(repository.name, corpus.files(repository), asked)


def cases(repository: PinnedRepository) -> Iterator[Case]:
    """The questions about a repository, in each language; none if there is no file of them."""
    path = QUESTIONS / f"{repository.name}.json"
    for asked in json.loads(path.read_text("utf-8")) if path.is_file() else ():
        for language, text in asked["texts"].items():
            yield case_of("languages", repository, question_of({**asked, "question": text}), language)


TASK = EvaluationTask("languages", scenes, sized=False)
