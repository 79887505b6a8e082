"""The first sentence of a file's documentation → the file, which the workspace has without its documentation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.question import Question
from winnow_research.evaluation.cases import Case, Gold, Scene, without_lines
from winnow_research.evaluation.comments import first_sentence, head, without_markup
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.haystack import Haystack, Place
from winnow_research.evaluation.tasks.base import EvaluationTask

_LEAST_LINES = 20  # that remain of a file


def scenes(corpus: Corpus, tokens: int) -> Iterator[Scene]:
    """A scene for each repository. A file counts as shown with its first unit."""
    for haystack in corpus.haystacks(tokens):
        asked = [found for file in haystack.own_files if (found := _asked(haystack, file))]
        corpus.rng(haystack.repository, "feature").shuffle(asked)
        asked = asked[: corpus.questions]
        scene = haystack.scene(case for case, _ in asked)
        yield without_lines(scene, {case.golds[0].path: lines for case, lines in asked})


def _asked(haystack: Haystack, file: IndexedFile) -> tuple[Case, frozenset[int]] | None:
    """The question about a file, and the lines of its documentation; None if that names it, or says little."""
    text, lines = head(file)
    path = PurePosixPath(file.path)
    sentence = first_sentence(text, path.parent.name if path.stem in ("__init__", "index", "mod") else path.stem)
    last = file.units[-1].end_line if file.units else 0
    if not sentence or last - len(lines) < _LEAST_LINES or haystack.occurrences(sentence) != 1:
        return None
    question = Question(f"Which file does this: {without_markup(sentence)}")
    gold = Gold(file.path, 1, last)
    return Case("feature", haystack.repository.name, Place(file, 0).language, question, (gold,)), lines


TASK = EvaluationTask("feature", scenes)
