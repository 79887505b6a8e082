"""The evaluation's loop: every task, size, scene, method and question, in that order."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from winnow_engine.core import Cancellation, Folder
from winnow_engine.errors import BudgetError, CancelledError, WinnowError
from winnow_engine.index.workspace import Sources, Workspace, read_workspace
from winnow_engine.selection.budget import KeptUnit
from winnow_engine.storage.store import Store
from winnow_research.evaluation.cases import Case, Gold, Scene
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.figures import BUDGETS, Outcome
from winnow_research.evaluation.methods.base import Method, Ranking, Subject
from winnow_research.evaluation.order import dumped, file_ndcg, shown, unit_ndcg
from winnow_research.evaluation.tasks.base import EvaluationTask

Report = Callable[[str], None]
"""Called with a few words about what is being worked on."""


@dataclass
class Evaluation:
    """What to compare, on what. `absent` collects by method the reason why it could not score something."""

    corpus: Corpus
    methods: Sequence[Method]
    store: Store
    report: Report
    cancellation: Cancellation = field(default_factory=Cancellation)
    absent: dict[str, str] = field(default_factory=dict)
    dump: bool = False

    def run(self, tasks: Iterable[EvaluationTask], sizes: Sequence[int]) -> Iterator[Outcome]:
        """The outcome of every case with every method that can score it.

        A task that is not sized runs once, as size 0.
        """
        for task in tasks:
            for tokens in sizes if task.sized else (0,):
                for scene in task.scenes(self.corpus, tokens):
                    yield from self._scene(scene, tokens)

    def _scene(self, scene: Scene, tokens: int) -> Iterator[Outcome]:
        if not scene.cases:
            return
        with tempfile.TemporaryDirectory() as folder:
            subject = laid_out(scene, Path(folder), self.store, self.corpus.count, self.cancellation)
            for method in self.methods:
                self.report(f"{scene.cases[0].task} {tokens:,} {scene.name} {method.name}")
                yield from self._method(method, subject, scene, tokens)

    def _method(self, method: Method, subject: Subject, scene: Scene, tokens: int) -> Iterator[Outcome]:
        if method.most_tokens is not None and subject.tokens > method.most_tokens:
            self.absent[method.name] = f"not run on workspaces of more than {method.most_tokens:,} tokens"
            return
        try:
            ranker = method.ranker(subject)
        except CancelledError:
            raise
        except WinnowError as error:
            self.absent[method.name] = str(error)
            return
        for case in scene.cases:
            self.cancellation.check()
            ranking = ranker(case.question)
            found = outcome(method.name, tokens, case, subject, ranking)
            yield replace(found, dump=dumped(ranking, case, subject)) if self.dump else found


def laid_out(
    scene: Scene, root: Path, store: Store, count: Callable[[str], int], cancellation: Cancellation
) -> Subject:
    """A scene, written to `root` and read as the engine reads any workspace. CancelledError when cancelled."""
    scene.write(root)
    sources = Sources((Folder(root),))
    return Subject(sources, read_workspace(sources, store, cancellation), store, count)


def outcome(method: str, tokens: int, case: Case, subject: Subject, ranking: Ranking) -> Outcome:
    """What a ranking keeps of a case's golds, and how early it shows them."""
    lines = [_lines(_kept(ranking, budget), subject.workspace) for budget in BUDGETS]
    order = shown(ranking, case, subject) if case.golds else []
    held = [[_holds(kept, gold) for gold in case.golds] for kept in lines]
    wanted = {gold.path for gold in case.golds}
    present = [wanted & kept.keys() for kept in lines]
    return Outcome(
        method,
        case.task,
        tokens,
        case.repository,
        case.language,
        kept=tuple(map(all, held)),
        share=tuple(sum(golds) / max(len(golds), 1) for golds in held),
        all_files=tuple(found == wanted for found in present),
        any_file=tuple(bool(found) for found in present),
        reciprocal_rank=reciprocal_rank(order, case, subject.workspace) if case.golds else None,
        top=float(ranking.scores.max()),
        ndcg=(unit_ndcg(order, case, subject), file_ndcg(order, case, subject)) if case.golds else (0.0, 0.0),
    )


def reciprocal_rank(order: Sequence[int], case: Case, workspace: Workspace) -> float:
    """1 / the rank of the first unit shown that holds a line of a gold."""
    golds = {unit for gold in case.golds for unit in workspace.units_at(gold)}
    return 1.0 / (1 + next(rank for rank, unit in enumerate(order) if unit in golds))


def _kept(ranking: Ranking, budget: int) -> list[KeptUnit]:
    """What is kept within a budget; nothing if not even the code at the cursor fits."""
    try:
        return ranking.keep(budget)
    except BudgetError:
        return []


def _lines(pieces: Iterable[KeptUnit], workspace: Workspace) -> dict[str, set[int]]:
    """The lines kept, by path."""
    kept: dict[str, set[int]] = {}
    for piece in pieces:
        file, _ = workspace.units[piece.unit]
        kept.setdefault(file.path, set()).update(range(piece.start_line, piece.end_line + 1))
    return kept


def _holds(kept: dict[str, set[int]], gold: Gold) -> bool:
    return kept.get(gold.path, set()).issuperset(range(gold.start_line, gold.end_line + 1))
