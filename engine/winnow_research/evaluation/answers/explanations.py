"""The hand-written questions that have a key, asked about the whole repository, and about it without their golds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from winnow_engine.core import Sampling
from winnow_engine.question import Question
from winnow_research.evaluation.answers.explaining import ExplainedQuestion
from winnow_research.evaluation.answers.items import Item, Sheet
from winnow_research.evaluation.cases import Gold, Scene, without_lines
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.haystack import indexed
from winnow_research.evaluation.repositories import PinnedRepository, SourceFile
from winnow_research.evaluation.tasks.real import QUESTIONS, WrittenQuestion, case_of, load

_TEMPERATURE = 0.6  # of seeds other than 0, which is greedy as the product is


def sheets(corpus: Corpus, directory: Path = QUESTIONS) -> Iterator[Sheet]:
    """Two workspaces for each repository with keys: whole, and without the golds of half of the questions.

    At most `corpus.questions` are asked about the whole one, and half of these about the other.
    """
    for repository in corpus.subjects:
        written = [one for one in load(repository, directory) if one.key][: corpus.questions]
        if written:
            files = corpus.files(repository)
            yield _sheet(corpus, repository, files, written)
            unanswerable = corpus.rng(repository, "unanswerable").sample(written, -(-len(written) // 2))
            golds = [gold for one in unanswerable for gold in _golds(repository, one)]
            left = without_units(Scene(repository.name, files, ()), golds).files
            yield _sheet(corpus, repository, left, [replace(one, key=None) for one in unanswerable])


def _golds(repository: PinnedRepository, one: WrittenQuestion) -> tuple[Gold, ...]:
    return case_of("explain", repository, one).golds


def _sheet(
    corpus: Corpus, repository: PinnedRepository, files: tuple[SourceFile, ...], written: Sequence[WrittenQuestion]
) -> Sheet:
    """Some questions, which have no key if none of the files answers them."""
    sampling = Sampling(temperature=_TEMPERATURE if corpus.seed else 0.0, seed=corpus.seed)
    items = []
    for one in written:
        explained = ExplainedQuestion(one.text, one.key, _golds(repository, one))
        test = "explain" if one.key else "unanswerable"
        items.append(Item(test, Question(one.text), explained.scores, sampling))
    return Sheet(repository.name if written[0].key else f"{repository.name} without golds", files, tuple(items))


def without_units(scene: Scene, golds: Iterable[Gold]) -> Scene:
    """The scene without the units that hold a line of a gold."""
    files = {file.path: file for file in scene.files}
    dropped: dict[str, set[int]] = defaultdict(set)
    for gold in golds:
        for unit in indexed([files[gold.path]])[0].units:
            if unit.start_line <= gold.end_line and gold.start_line <= unit.end_line:
                dropped[gold.path].update(range(unit.start_line, unit.end_line + 1))
    return without_lines(scene, dropped)
