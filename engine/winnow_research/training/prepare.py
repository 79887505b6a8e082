"""`winnow train prepare`: makes a data set from pinned projects, the same for equal seeds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path

from winnow_engine.core import Progress, ProgressSink
from winnow_engine.index.languages import for_path
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.evaluation.haystack import Haystack, indexed
from winnow_research.evaluation.repositories import SourceFile, Split, repositories
from winnow_research.training.collector import Collector, TokenisedProject, joined
from winnow_research.training.dataset import Dataset
from winnow_research.training.examples import examples, needles
from winnow_research.training.examples.base import ProjectTree
from winnow_research.training.heldout import SeenLines, seen_in
from winnow_research.training.projects import Project

LARGEST_FILE = 80_000  # bytes; larger files are usually data
_CODE_WORTH = 20  # one file in so many is taken if it is in no known language: a little prose and data


@dataclass(frozen=True, slots=True)
class DataRecipe:
    """What a data set depends on besides the projects: the bytes taken from each, and the seed."""

    project_bytes: int = 450_000
    seed: int = 0


def prepare(
    projects: Sequence[Project],
    drafter: Path,
    recipe: DataRecipe,
    progress: ProgressSink,
    workers: int = 1,
    directory: Path | None = None,
) -> Dataset:
    """The data set of some projects, in tokens of the drafter's vocabulary.

    Raises EvaluationError if an archive cannot be fetched, and the drafter's errors.
    """
    trees = list(_distinct(projects, recipe, progress, directory))
    work = partial(_part, drafter=drafter, seed=recipe.seed)
    parts = []
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for done, part in enumerate(pool.map(work, trees), 1):
            parts.append(part)
            progress(Progress("questions", done, len(trees)))
    return joined(parts, _collector(drafter).prefix)


@dataclass(frozen=True, slots=True)
class ChosenFiles:
    """The files taken from a project."""

    project: Project
    files: tuple[SourceFile, ...]


def choose(files: Sequence[SourceFile], most_bytes: int, rng: random.Random) -> list[SourceFile]:
    """A random choice of the files, in path order: code and documentation, no huge files."""
    shuffled = [file for file in files if len(file.data) <= LARGEST_FILE]
    rng.shuffle(shuffled)
    chosen, room = [], most_bytes
    for file in shuffled:
        if len(file.data) <= room and (_worth(file) or rng.randrange(_CODE_WORTH) == 0):
            chosen.append(file)
            room -= len(file.data)
    return sorted(chosen, key=lambda file: file.path)


def without_copies(files: Sequence[SourceFile], heldout: SeenLines, before: SeenLines) -> Iterator[SourceFile]:
    """The files that copy neither held-out files nor files taken before. They are added to `before`."""
    for file in files:
        if not heldout.copied(file.data) and not before.copied(file.data):
            before.add(file.data)
            yield file


def _distinct(
    projects: Sequence[Project], recipe: DataRecipe, progress: ProgressSink, directory: Path | None
) -> Iterator[ChosenFiles]:
    heldout = held_out(directory)
    before = SeenLines()
    for done, project in enumerate(projects, 1):
        rng = random.Random(f"{recipe.seed}/{project.name}/files")
        files = choose(project.repository.files(directory=directory), recipe.project_bytes, rng)
        yield ChosenFiles(project, tuple(without_copies(files, heldout, before)))
        progress(Progress("files", done, len(projects)))


def held_out(directory: Path | None) -> SeenLines:
    """The files of all repositories of the evaluation, calibration included: it must be new to the adapter too."""
    return seen_in(
        file.data for split in Split for one in repositories(split) for file in one.files(directory=directory)
    )


def _worth(file: SourceFile) -> bool:
    language = for_path(file.path)
    return (language is not None and language.name not in ("json", "yaml", "toml")) or file.path.endswith(".rst")


def _part(chosen: ChosenFiles, drafter: Path, seed: int) -> TokenisedProject:
    project = chosen.project
    rng = random.Random(f"{seed}/{project.name}/part")
    files, hidden = needles.hide(chosen.files, rng)
    haystack = Haystack(project.repository, indexed(files))
    tree = ProjectTree(haystack, seed, hidden)
    prefix = f"{project.name}/" if rng.random() < 0.5 else ""
    return _collector(drafter).part(project.name, haystack.files, examples(tree), _shown(project.name, prefix))


def _shown(name: str, prefix: str) -> Callable[[str], str]:
    """The path to show: half of the projects are in a folder of their name, as in a workspace with several folders."""
    return lambda path: prefix + path.removeprefix(f"{name}/")


@lru_cache(maxsize=1)
def _collector(drafter: Path) -> Collector:
    return Collector(Vocabulary(LlamaModel(drafter, vocabulary_only=True)))
