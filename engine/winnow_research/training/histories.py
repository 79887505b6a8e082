"""`winnow train histories`: a data set of commits, each with what it changed as that was before.

Each commit brings its own files, as they were: the units that it changed, which answer its message, and some around
these, which do not. All commits of a project are one project of the data set. Needs the clones that `clones.toml` pins.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from winnow_cuda.shapes import Int32
from winnow_engine.changes.units import FileUnits
from winnow_engine.core import Cancellation, Progress, ProgressSink, Unit
from winnow_engine.encoder.template import Template
from winnow_engine.errors import TrainingError
from winnow_engine.git.objects import Commit, blobs
from winnow_engine.git.repository import Repository
from winnow_engine.git.trees import FileChange
from winnow_engine.index.languages import for_path
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.evaluation.haystack import squeezed
from winnow_research.evaluation.histories.asked_commits import LARGEST_BYTES, LEAST_WORDS, is_code, text_of
from winnow_research.evaluation.histories.clones import Pin, at_commit, opened
from winnow_research.evaluation.histories.small_commits import (
    MOST_FILES,
    SmallCommit,
    all_commits,
    blobs_of,
    by_chance,
    commit_changes,
    gives_a_reason,
    small_commit,
)
from winnow_research.training.adding import together
from winnow_research.training.collector import TokenisedProject, joined, twin
from winnow_research.training.dataset import Dataset
from winnow_research.training.examples.commits import TEXTS, pins
from winnow_research.training.heldout import SeenLines
from winnow_research.training.prepare import LARGEST_FILE, held_out

KIND = "commit"
_LOOKED_AT = 20_000  # commits of a project, the newest
_AT_ONCE = 100  # commits that are read by one process
_NOTHING = np.empty(0, np.int32)


@dataclass(frozen=True, slots=True)
class HistoryRecipe:
    """What the data set depends on besides the clones: questions of a project at most, and units around what changed.

    The seed chooses among the commits and how they are asked about.
    """

    most: int = 1_000
    around: int = 3
    seed: int = 0


def histories(
    clones: Path, drafter: Path, recipe: HistoryRecipe, kept: Path, progress: ProgressSink, workers: int = 1
) -> Dataset:
    """The data set of all pinned histories, whose clones lie in `clones`/OWNER/NAME, in the drafter's tokens.

    What a project gives is kept in the folder `kept`, from which a later run goes on. Raises EvaluationError if a clone
    lacks, TrainingError if there is no question, and the drafter's errors.
    """
    wanted = list(pins().values())
    opened(wanted, clones, Cancellation())
    kept.mkdir(parents=True, exist_ok=True)
    work = partial(_kept, clones=clones, drafter=drafter, recipe=recipe, folder=kept)
    parts = []
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        for done, path in enumerate(pool.map(work, wanted), 1):
            parts.append(path)
            progress(Progress("projects", done, len(wanted)))
    found = [data for data in map(Dataset.load, parts) if len(data.questions)]
    if not found:
        raise TrainingError("none of these histories has a commit that can be asked about")
    return together(found)


def _kept(pin: Pin, clones: Path, drafter: Path, recipe: HistoryRecipe, folder: Path) -> Path:
    """The file with what a project gives."""
    path = folder / f"{pin.name}-{pin.commit[:12]}-{recipe.most}-{recipe.around}-{recipe.seed}.npz"
    if not path.is_file():
        clone = opened([pin], clones, Cancellation())[pin]
        with tempfile.TemporaryDirectory() as scratch:
            part = _Collected(pin.name, *_tools(drafter), recipe)
            part.add_all(at_commit(clone, pin.commit, Path(scratch)))
        unfinished = path.with_suffix(".part")
        joined([part.project], part.prefix).save(unfinished)
        unfinished.replace(path)
    return path


@lru_cache(maxsize=1)
def _tools(drafter: Path) -> tuple[Vocabulary, SeenLines]:
    return Vocabulary(LlamaModel(drafter, vocabulary_only=True)), held_out(None)


class _Collected:
    """The commits of a project, as they are collected."""

    def __init__(self, name: str, vocabulary: Vocabulary, heldout: SeenLines, recipe: HistoryRecipe) -> None:
        template = Template(vocabulary)
        self.project, self.prefix = TokenisedProject(f"history of {name}"), template.prefix
        self._tokens: Callable[[str], Int32] = vocabulary.tokenize
        self._template, self._heldout, self._recipe = template, heldout, recipe
        self._rng = random.Random(f"{recipe.seed}/{name}/histories")
        self._asked: set[str] = set()

    def add_all(self, repository: Repository) -> None:
        """Add as many commits as the recipe wants, chosen at random."""
        found = by_chance(all_commits(repository)[:_LOOKED_AT], self._recipe.seed)
        for small in _small_commits(repository, found):
            if len(self.project.questions) >= self._recipe.most:
                return
            self._add(small)

    def _add(self, small: SmallCommit) -> None:
        """Add a commit, unless it is asked about already or changed something that cannot be shown."""
        text = text_of(small.commit.message)
        changed = [(unit.file, unit.before) for unit in small.units if unit.before is not None]
        shown = [(file, [unit for own, unit in changed if own is file.file]) for file in small.files]
        fair = changed and all(_fair(unit) for _, unit in changed)
        if not fair or text in self._asked or len(text.split()) < LEAST_WORDS:
            return
        if any(units and self._heldout.copied(file.file.before or b"") for file, units in shown):
            return
        self._asked.add(text)
        golds = list(chain.from_iterable(self._add_file(file, units) for file, units in shown if units))
        self._add_question(self._rng.choice(TEXTS).format(text=text), golds, changed[0][0].before_path or "")

    def _add_file(self, file: FileUnits, golds: Sequence[Unit]) -> list[int]:
        """Add the units of a file that changed and some around them. Returns the numbers of those that changed."""
        units, path = file.before.units, file.file.before_path or file.file.path
        own = [number for number, unit in enumerate(units) if unit in golds]
        around = [number for number, unit in enumerate(units) if number not in own and _fair(unit)]
        around.sort(key=lambda number: min(abs(number - one) for one in own))
        taken = sorted([*own, *around[: self._recipe.around * len(own)]])
        first = len(self.project.units)
        self.project.headers.append(self._template.header(path))
        self.project.unit_counts.append(len(taken))
        for number in taken:
            unit = units[number]
            text = b"\n".join(file.file.before_lines[unit.start_line - 1 : unit.end_line]).decode("utf-8", "replace")
            self.project.units.append(self._tokens(f"{text}\n"))
            self.project.bare.append(_NOTHING)
            self.project.twins.append(_twin(path, unit, text))
        return [first + taken.index(number) for number in own]

    def _add_question(self, text: str, golds: list[int], path: str) -> None:
        language = for_path(path)
        ids = self._template.question(text).ids
        self.project.add_question(KIND, ids, golds, language.name if language else "text")


def _small_commits(repository: Repository, found: Sequence[Commit]) -> Iterator[SmallCommit]:
    """Those of some commits that are small, by what they changed of code outside tests; many by one process.

    A commit with a larger file than `prepare` takes is left out.
    """
    wanted = [one for one in found if len(one.parents) == 1 and gives_a_reason(one.subject)]
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        changes = commit_changes(repository, [one.id for one in some])
        code = {one.id: _code(changes.get(one.id, ())) for one in some}
        contents = blobs(repository.git, blobs_of(chain.from_iterable(code.values())), LARGEST_FILE)
        read = [one for one in some if code[one.id] and contents.keys() >= set(blobs_of(code[one.id]))]
        smalls = (small_commit(one, code[one.id], contents.get) for one in read)
        yield from (small for small in smalls if small is not None)


def _code(changes: Sequence[FileChange]) -> list[FileChange]:
    """A commit's changes of code outside tests; none if it changed too many files, or moved one, or added all."""
    code = [change for change in changes if change.regular and is_code(change.path)]
    added, removed = (any(getattr(one, side) is None for one in code) for side in ("before", "after"))
    few = len(changes) <= MOST_FILES and any(change.before for change in code)
    return code if few and not (added and removed) else []


def _fair(unit: Unit) -> bool:
    return 0 < unit.end_byte - unit.start_byte <= LARGEST_BYTES


def _twin(path: str, unit: Unit, text: str) -> int:
    """Equal for what is one unit at different times: by its name, else by its text."""
    return twin(f"{path}\0{unit.kind.value}\0{unit.name}" if unit.name else squeezed(text))
