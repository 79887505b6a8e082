"""`winnow train commits`: adds questions made of commits to a data set.

The data set has every file, in tokens of which the text can be had back. So it is enough, with the clones.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from winnow_engine.core import Progress, ProgressSink
from winnow_engine.encoder.template import Template
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.errors import TrainingError
from winnow_research.evaluation.haystack import Haystack, indexed
from winnow_research.evaluation.repositories import SourceFile
from winnow_research.training.adding import NewQuestion, paths_of, with_questions
from winnow_research.training.dataset import Dataset
from winnow_research.training.examples import commits
from winnow_research.training.examples.base import ProjectTree
from winnow_research.training.projects import Project

KIND = "commit"

Found = tuple[str, str, list[int]]
"""A question, the language of its first answer, and its answers: units numbered within the project."""


def with_commits(
    data: Dataset,
    projects: Sequence[Project],
    drafter: Path,
    clones: Path,
    kept: Path,
    progress: ProgressSink,
    workers: int = 1,
) -> Dataset:
    """The data set with a question for each small commit of its pinned clones, which lie in `clones`/OWNER/NAME.

    What a project gives is kept in the folder `kept`, from which a later run goes on. Raises EvaluationError if a clone
    lacks, TrainingError if the data set has such questions, and the drafter's errors.
    """
    data.require_files()
    if KIND in data.kinds:
        raise TrainingError("the data set has questions made of commits already: take it as it was before")
    vocabulary = Vocabulary(LlamaModel(drafter, vocabulary_only=True))
    kept.mkdir(parents=True, exist_ok=True)
    work = list(_work(data, {one.name: one for one in projects}, vocabulary, clones, kept))
    new: list[NewQuestion] = []
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for done, (one, found) in enumerate(zip(work, pool.map(_found, work), strict=True), 1):
            new += [
                NewQuestion(text, tuple(one.first_unit + unit for unit in golds), data.languages.index(language))
                for text, language, golds in found
                if language in data.languages
            ]
            progress(Progress("projects", done, len(work)))
    return with_questions(data, Template(vocabulary), KIND, new)


@dataclass(frozen=True)
class _Work:
    """A project of the data set: its files as text, and where what it gives is kept."""

    project: Project
    first_unit: int
    files: tuple[SourceFile, ...]
    units: tuple[int, ...]  # of each file
    clones: Path
    kept: Path


def _work(
    data: Dataset, projects: dict[str, Project], vocabulary: Vocabulary, clones: Path, kept: Path
) -> Iterator[_Work]:
    paths, sizes = paths_of(data, vocabulary), np.diff(data.file_units).tolist()
    for number, name in enumerate(data.projects):
        if name in commits.pins() and name in projects:
            own = np.flatnonzero(data.project_of == number).tolist()
            shown = {file: f"{name}/{paths[file].removeprefix(f'{name}/')}" for file in own}
            files = tuple(SourceFile(shown[file], _text(data, file, vocabulary)) for file in own)
            part = kept / f"{name}-{commits.pins()[name].commit[:12]}-{_digest(files)}.json"
            first = int(data.file_units[own[0]])
            yield _Work(projects[name], first, files, tuple(sizes[file] for file in own), clones, part)


def _digest(files: Sequence[SourceFile]) -> str:
    return hashlib.blake2b(repr([(file.path, file.data) for file in files]).encode(), digest_size=6).hexdigest()


def _text(data: Dataset, file: int, vocabulary: Vocabulary) -> bytes:
    """A file's text: its units cover it."""
    first, last = data.units.offsets[data.file_units[file : file + 2]]
    return vocabulary.text(data.units.values[first:last].tolist()).encode()


def _found(work: _Work) -> list[Found]:
    """The questions of one project. Files that are cut otherwise than in the data set are left out."""
    if work.kept.is_file():
        stored: list[Found] = json.loads(work.kept.read_text("utf-8"))
        return stored
    files = indexed(work.files)
    starts = dict(zip((file.path for file in files), np.cumsum([0, *work.units]).tolist(), strict=False))
    same = [file for file, count in zip(files, work.units, strict=True) if len(file.units) == count]
    tree = ProjectTree(Haystack(work.project.repository, tuple(same)))
    with tempfile.TemporaryDirectory() as scratch:
        examples = commits.examples(tree, work.clones, Path(scratch))
    found = [
        (one.text, one.golds[0].language, [starts[gold.file.path] + gold.number for gold in one.golds])
        for one in examples
    ]
    part = work.kept.with_suffix(".part")
    part.write_text(json.dumps(found), "utf-8")
    part.replace(work.kept)
    return found
