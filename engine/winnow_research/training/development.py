"""The questions of the development split as a data set with a workspace for each project: training is judged by it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from winnow_engine.core import Progress, ProgressSink
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.languages import for_path
from winnow_engine.index.units import enclosing
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.question import CodeAtCursor
from winnow_research.evaluation.cases import Case, Scene
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.haystack import Place, indexed
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.tasks import all_tasks
from winnow_research.training.collector import Collector, TokenisedProject, joined
from winnow_research.training.dataset import Dataset
from winnow_research.training.examples.base import Example

JUDGED = ("describe", "multi", "cursor", "usage", "doc", "bug", "real")


def development(
    drafter: Path,
    tokens: int,
    progress: ProgressSink,
    questions: int = 32,
    tasks: Sequence[str] = JUDGED,
    directory: Path | None = None,
) -> Dataset:
    """Workspaces of `tokens` tokens (whole repositories if a task is not sized) with their questions.

    Raises EvaluationError if an archive cannot be fetched, and the drafter's errors.
    """
    vocabulary = Vocabulary(LlamaModel(drafter, vocabulary_only=True))
    collector = Collector(vocabulary)
    split = repositories(Split.DEVELOPMENT)
    corpus = Corpus(split, lambda text: len(vocabulary.tokenize(text)), questions, directory=directory)
    parts = []
    for name in tasks:
        for scene in all_tasks()[name].scenes(corpus, tokens):
            if scene.cases:
                parts.append(part_of(scene, collector))
                progress(Progress(f"development {name}", len(parts), 0))
    return joined(parts, collector.prefix)


def part_of(scene: Scene, collector: Collector) -> TokenisedProject:
    """A scene in tokens."""
    files = {file.path: file for file in indexed(scene.files)}
    examples = [_example(case, files) for case in scene.cases if case.golds]
    return collector.part(scene.name, list(files.values()), examples, lambda path: path)


def _example(case: Case, files: dict[str, IndexedFile]) -> Example:
    golds = [place for gold in case.golds for place in _places(files[gold.path], gold.start_line, gold.end_line)]
    cursor = case.question.cursor
    if cursor is None:
        return Example(case.task, case.question.text, tuple(golds))
    file = files[cursor.path]
    language = for_path(cursor.path)
    code = CodeAtCursor(file.text_of_lines(cursor.start_line, cursor.end_line), language.name if language else "")
    at = next(_places(file, cursor.start_line, cursor.end_line))
    return Example(case.task, case.question.text, tuple(golds), at, code)


def _places(file: IndexedFile, first: int, last: int) -> Iterator[Place]:
    """The units that hold some lines."""
    return (Place(file, n) for n in range(enclosing(file.units, first), enclosing(file.units, last) + 1))
