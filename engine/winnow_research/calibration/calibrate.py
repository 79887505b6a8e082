"""A drafter's whole calibration: from its GGUF to the document of its profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from winnow_engine.core import Cancellation, ProgressSink
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.drafter.heads import heads_of
from winnow_engine.drafter.profiles import adapter_of, calibrated_directory, fingerprint
from winnow_engine.drafter.weights import GgufTensors, shape_of
from winnow_engine.models.gguf_header import read_header
from winnow_engine.selection.key_cache import KeyCache
from winnow_engine.store import Store
from winnow_research.calibration.fusion import fit_gate, mean_reciprocal_rank
from winnow_research.calibration.heads import choose_heads
from winnow_research.calibration.observations import Observation, Observer
from winnow_research.evaluation.corpus import corpus_of
from winnow_research.evaluation.parallel import WorkItem
from winnow_research.evaluation.processes import spread
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.tasks import all_tasks

_HEADS_TOKENS, _HEADS_QUESTIONS = 8_000, 8  # a workspace
_TOKENS, _QUESTIONS = 16_000, 16
_THOROUGH_TOKENS, _THOROUGH_QUESTIONS = 128_000, 32

Heads = list[dict[str, Any]]
Report = Callable[[str], None]
"""Told in a sentence what was found."""


@dataclass(frozen=True)
class Calibration:
    """What to calibrate with, in how many processes. `thorough` takes workspaces of 128K tokens instead of 16K, and
    whole repositories too; `store` is a file, and keeps what is encoded."""

    store: Path
    thorough: bool
    jobs: int
    report: Report
    progress: ProgressSink
    cancellation: Cancellation

    def run(self, file: Path) -> dict[str, Any]:
        """The profile's document for the drafter in a GGUF; where an adapter ships for it, with that instead of heads.

        Fetches the calibration repositories on first use. Raises what opening a drafter raises, EvaluationError and
        CancelledError.
        """
        adapter = adapter_of(GgufTensors(file, read_header(file)))
        heads = None if adapter else self._heads(file)
        observations = list(self._observations(file, heads))
        gate = fit_gate(observations)
        rank = mean_reciprocal_rank(observations, gate)
        self.report(f"fusion: mean reciprocal rank {rank:.3f} over {len(observations):,} questions")
        return {**({"adapter": adapter} if heads is None else {"heads": heads}), "fusion": gate.document()}

    def _heads(self, file: Path) -> Heads:
        corpus = corpus_of(Split.CALIBRATION, file, _HEADS_QUESTIONS)
        scenes = list(all_tasks()["describe"].scenes(corpus, _HEADS_TOKENS))
        with closing(Store(self.store)) as store:
            chosen = choose_heads(file, scenes, store, self.progress, self.cancellation)
        self.report(f"heads: {', '.join(f'layer {one.layer} head {one.head} {one.feature}' for one in chosen)}")
        return [asdict(one) for one in chosen]

    def _observations(self, file: Path, heads: Heads | None) -> Iterator[Observation]:
        questions = _THOROUGH_QUESTIONS if self.thorough else _QUESTIONS
        start, items = partial(_alone, file, heads, self.store, questions), self._items()
        with spread(self.jobs, self._here(file, heads, questions), start) as ask:
            for item, found in zip(items, ask(Observer.all_of, items), strict=True):
                if found:
                    self.report(f"{item.task} {item.repository}: {len(found)} questions")
                self.cancellation.check()
                yield from found

    @contextmanager
    def _here(self, file: Path, heads: Heads | None, questions: int) -> Iterator[Observer]:
        with closing(Store(self.store)) as store:
            yield _observer(file, heads, store, questions, self.progress, self.cancellation)

    def _items(self) -> list[WorkItem]:
        tokens = _THOROUGH_TOKENS if self.thorough else _TOKENS
        # What asks for several things is scored part by part, and the parts of *multi* are what *describe* asks.
        fitted = (one for one in all_tasks().values() if one.name != "multi" and (one.sized or self.thorough))
        return [WorkItem(one.name, tokens, asked.name) for one in fitted for asked in repositories(Split.CALIBRATION)]


def _alone(file: Path, heads: Heads | None, store: Path, questions: int) -> Observer:
    """The observer of a process of its own."""
    return _observer(file, heads, Store(store), questions, lambda _: None, Cancellation())


def _observer(
    file: Path,
    heads: Heads | None,
    store: Store,
    questions: int,
    progress: ProgressSink,
    cancellation: Cancellation,
) -> Observer:
    """With the drafter's adapter where `heads` are None."""
    profile = heads_of(heads, shape_of(read_header(file), 1).group) if heads is not None else None
    corpus = corpus_of(Split.CALIBRATION, file, questions)
    return Observer(corpus, KeyCache(store, Drafter(file, profile)), progress, cancellation)


def place_of(file: Path) -> Path:
    """Where the profile of the drafter in a GGUF is looked for."""
    return calibrated_directory() / f"{fingerprint(GgufTensors(file, read_header(file)))}.json"
