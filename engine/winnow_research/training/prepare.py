"""`winnow train prepare` and `written`: make a data set from pinned projects, the same for equal seeds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from multiprocessing import get_context
from pathlib import Path

from winnow_engine.core import Progress, ProgressSink
from winnow_engine.index.languages import for_path
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.evaluation.cases import Case
from winnow_research.evaluation.haystack import Haystack, indexed
from winnow_research.evaluation.repositories import PinnedRepository, SourceFile
from winnow_research.training.collector import Collector, TokenisedProject, joined
from winnow_research.training.dataset import Dataset
from winnow_research.training.examples import examples, needles
from winnow_research.training.examples.base import ProjectTree
from winnow_research.training.heldout import SeenLines, seen_in

LARGEST_FILE = 80_000  # bytes; larger files are usually data
_CODE_WORTH = 20  # one file in so many is taken if it is in no known language: a little prose and data


@dataclass(frozen=True, slots=True)
class DataRecipe:
    """What a data set depends on besides the projects: the bytes taken from each, and the seed."""

    project_bytes: int = 450_000
    seed: int = 0


def prepare(
    projects: Sequence[PinnedRepository],
    held_out: Sequence[PinnedRepository],
    drafter: Path,
    recipe: DataRecipe,
    progress: ProgressSink,
    workers: int = 1,
    directory: Path | None = None,
    written: Callable[[PinnedRepository], list[Case]] = lambda _: [],
) -> Dataset:
    """The data set of some projects, in tokens of the drafter's vocabulary, without copies of files held out.

    The files that answer `written` questions about a project are taken first and whole. Raises EvaluationError if an
    archive cannot be fetched, and the drafter's errors.
    """
    heldout = seen_in(file.data for one in held_out for file in one.files(directory=directory))
    before, trees = SeenLines(), []
    for done, project in enumerate(projects, 1):
        chosen = ChosenFiles(project, project.files(directory=directory), (), tuple(written(project)))
        trees.append(_fewer(chosen, recipe, heldout, before))
        progress(Progress("files", done, len(projects)))
    work = partial(_part, drafter=drafter, seed=recipe.seed)
    parts = []
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for done, part in enumerate(pool.map(work, trees), 1):
            parts.append(part)
            progress(Progress("questions", done, len(trees)))
    return joined(parts, _collector(drafter).prefix)


@dataclass(frozen=True, slots=True)
class ChosenFiles:
    """The files taken from a project, and those that answer `cases`, which people wrote."""

    project: PinnedRepository
    files: tuple[SourceFile, ...]
    golds: tuple[SourceFile, ...]
    cases: tuple[Case, ...]


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


def _fewer(whole: ChosenFiles, recipe: DataRecipe, heldout: SeenLines, before: SeenLines) -> ChosenFiles:
    wanted = {gold.path for case in whole.cases for gold in case.golds}
    golds = tuple(file for file in whole.files if file.path in wanted and not heldout.copied(file.data))
    for file in golds:
        before.add(file.data)
    room = recipe.project_bytes - sum(len(file.data) for file in golds)
    rng = random.Random(f"{recipe.seed}/{whole.project.name}/files")
    others = choose([file for file in whole.files if file.path not in wanted], room, rng)
    return replace(whole, files=tuple(without_copies(others, heldout, before)), golds=golds)


def _worth(file: SourceFile) -> bool:
    language = for_path(file.path)
    return (language is not None and language.name not in ("json", "yaml", "toml")) or file.path.endswith(".rst")


def _part(chosen: ChosenFiles, drafter: Path, seed: int) -> TokenisedProject:
    project = chosen.project
    rng = random.Random(f"{seed}/{project.name}/part")
    files, hidden = needles.hide(chosen.files, rng)  # not among the golds, whose lines would move
    files = sorted([*files, *chosen.golds], key=lambda file: file.path)
    haystack = Haystack(project, indexed(files))
    tree = ProjectTree(haystack, seed, hidden, chosen.cases)
    prefix = f"{project.name}/" if rng.random() < 0.5 else ""
    return _collector(drafter).part(project.name, haystack.files, examples(tree), _shown(project.name, prefix))


def _shown(name: str, prefix: str) -> Callable[[str], str]:
    """The path to show: half of the projects are in a folder of their name, as in a workspace with several folders."""
    return lambda path: prefix + path.removeprefix(f"{name}/")


@lru_cache(maxsize=1)
def _collector(drafter: Path) -> Collector:
    return Collector(Vocabulary(LlamaModel(drafter, vocabulary_only=True)))
