"""Workspaces of a wanted size, cut from one repository, with questions that people asked about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from winnow_engine.core import Folder, Span
from winnow_engine.index.workspace import Sources
from winnow_research.errors import EvaluationError
from winnow_research.evaluation.cases import Case, Gold, Scene
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.repositories import PinnedRepository, SourceFile
from winnow_research.evaluation.tasks.real import scenes

_GOLD_SHARE = 0.5  # of a workspace, at most: the rest is code that no question is about
_FULL = 0.985
_LEAST_FULL = 0.9


@dataclass(frozen=True)
class SizedWorkspace:
    """A workspace on disk. `wanted` is the size asked for, `tokens` what its files have, by the drafter's count."""

    root: Path
    wanted: int
    tokens: int
    scene: Scene

    @property
    def sources(self) -> Sources:
        """What a question about it is asked of."""
        return Sources((Folder(self.root),))

    @property
    def cases(self) -> tuple[Case, ...]:
        """The questions with their golds; at least one."""
        return self.scene.cases


def sized_workspace(
    repository: PinnedRepository, wanted: int, count: Callable[[str], int], root: Path
) -> SizedWorkspace:
    """Write about `wanted` tokens of a repository to `root`: what its questions need, then other files in path order.

    A question whose files do not fit into half of it is left out. EvaluationError if the repository has no questions,
    or is smaller.
    """
    scene = next(scenes(Corpus((repository,), count), wanted), None)
    if scene is None:
        raise EvaluationError(f"nobody wrote questions about {repository.name}: choose a repository that has some")
    sizes = {file.path: count(file.data.decode("utf-8", "replace")) for file in scene.files}
    if sum(sizes.values()) < _LEAST_FULL * wanted:
        total = sum(sizes.values())
        raise EvaluationError(f"{repository.name} has {total:,} tokens: choose at most that, or a larger repository")
    cases, needed = _fitting(scene.cases, sizes, int(_GOLD_SHARE * wanted))
    if not cases:
        raise EvaluationError(f"no question about {repository.name} fits {wanted:,} tokens: choose a larger size")
    files = tuple(_filled(scene.files, sizes, needed, wanted))
    cut = Scene(scene.name, files, cases)
    cut.write(root)
    return SizedWorkspace(root, wanted, sum(sizes[file.path] for file in files), cut)


def _fitting(cases: Iterable[Case], sizes: dict[str, int], most: int) -> tuple[tuple[Case, ...], set[str]]:
    """The cases whose files fit together into `most` tokens, first come first served, and the files they need."""
    taken: list[Case] = []
    needed: set[str] = set()
    for case in cases:
        more = needed | {gold.path for gold in case.golds}
        if sum(sizes[path] for path in more) <= most:
            taken.append(case)
            needed = more
    return tuple(taken), needed


def _filled(files: Sequence[SourceFile], sizes: dict[str, int], needed: set[str], wanted: int) -> list[SourceFile]:
    """The needed files, and others in order as far as they fit."""
    chosen, tokens = set(needed), sum(sizes[path] for path in needed)
    for file in files:
        if tokens > _FULL * wanted:
            break
        if file.path not in chosen and tokens + sizes[file.path] <= wanted:
            chosen.add(file.path)
            tokens += sizes[file.path]
    return [file for file in files if file.path in chosen]


@dataclass(frozen=True, slots=True)
class KeptGold:
    """What a selection keeps of a question's golds: all of them, and the share of their lines."""

    whole: bool
    lines: float


def kept_gold(case: Case, spans: Iterable[Span]) -> KeptGold:
    """What spans hold of a case's golds."""
    lines: dict[str, set[int]] = {}
    for span in spans:
        lines.setdefault(span.path, set()).update(range(span.start_line, span.end_line + 1))
    wanted = [(gold.path, line) for gold in case.golds for line in _lines(gold)]
    held = sum(line in lines.get(path, ()) for path, line in wanted)
    return KeptGold(held == len(wanted), held / len(wanted))


def _lines(gold: Gold) -> range:
    return range(gold.start_line, gold.end_line + 1)
