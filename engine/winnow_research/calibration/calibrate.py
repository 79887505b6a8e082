"""A drafter's whole calibration: from its GGUF to the folder of its profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from winnow_engine.core import Cancellation, ProgressSink
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.heads import heads_of
from winnow_engine.encoder.profiles import (
    OpenedProfile,
    open_profile,
    shipped_profile,
    user_directory,
    users_profile,
)
from winnow_engine.encoder.weights import GgufTensors, shape_of
from winnow_engine.keys.key_cache import KeyCache
from winnow_engine.models.gguf_header import read_header
from winnow_engine.selection.fusion_weights import read_fusion_weights
from winnow_engine.storage.store import Store
from winnow_research.calibration.fusion import fit_fusion, mean_reciprocal_rank
from winnow_research.calibration.heads import choose_heads
from winnow_research.calibration.held_out import HeldOut
from winnow_research.calibration.observations import Observation, Observer
from winnow_research.calibration.profile_writing import fingerprint_of, with_fusion, write_profile
from winnow_research.evaluation.corpus import corpus_of
from winnow_research.evaluation.parallel import WorkItem
from winnow_research.evaluation.processes import spread
from winnow_research.evaluation.repositories import Split, repositories
from winnow_research.evaluation.tasks import all_tasks

LEFT_OUT = ("multi", "files", "feature")
"""Tasks that no weights are fitted to."""
_HEADS_TOKENS, _HEADS_QUESTIONS = 8_000, 8  # per workspace
_TOKENS, _QUESTIONS = 16_000, 16
_THOROUGH_TOKENS, _THOROUGH_QUESTIONS = 128_000, 32
_SMALL_TOKENS, _HELD_OUT_QUESTIONS = 2_000, 8
_HELD_OUT = ("describe", "cursor", "usage", "doc")

Heads = list[dict[str, Any]]
Report = Callable[[str], None]
"""Called with a sentence for each finding."""


@dataclass(frozen=True)
class _Asking:
    """The drafter in `file` and the repositories of `split` whose questions it is asked. Must pickle.

    The drafter works with `heads` if given, else with the profile in use; `shipped` passes over the user's own.
    """

    file: Path
    split: Split
    questions: int
    store: Path
    heads: Heads | None = None
    shipped: bool = False

    def observer(self, store: Store, progress: ProgressSink, cancellation: Cancellation) -> Observer:
        """An observer that keeps what is encoded in `store`."""
        corpus = corpus_of(self.split, self.file, self.questions)
        return Observer(corpus, KeyCache(store, Drafter(self.file, self._profile())), progress, cancellation)

    def _profile(self) -> OpenedProfile | None:
        if self.heads is None:
            return with_fusion(shipped(self.file).profile) if self.shipped else None
        shape = shape_of(read_header(self.file), 1)
        return with_fusion(heads_of(self.heads, shape.heads, shape.group))


@dataclass(frozen=True)
class Calibration:
    """How to calibrate. `thorough` takes workspaces of 128K tokens instead of 16K, and whole repositories too.

    `store` is the file of a store that keeps the encoded keys; `jobs` is the number of processes.
    """

    store: Path
    thorough: bool
    jobs: int
    report: Report
    progress: ProgressSink
    cancellation: Cancellation

    def run(self, file: Path, out: Path | None = None) -> Path:
        """Calibrate the drafter in a GGUF and write its profile to the folder `out`, by default among the user's.

        An adapter that the drafter has, the user's or the one that ships, stays; without one, scoring heads are
        chosen. Fetches the repositories on first use. Returns the folder. ProfileError, and nothing is written, where
        what ships does better on repositories held out. Also raises what opening a drafter raises, EvaluationError
        and CancelledError.
        """
        name = fingerprint_of(file)
        own = users_profile(name)
        used = own or shipped_profile(name)
        adapter = used.adapter if used else None
        heads = None if adapter else self._heads(file)
        questions = _THOROUGH_QUESTIONS if self.thorough else _QUESTIONS
        asking = _Asking(file, Split.CALIBRATION, questions, self.store, heads)
        observations = list(self._observations(asking, self._items()))
        weights = fit_fusion(observations)
        rank = mean_reciprocal_rank(observations, weights)
        self.report(f"fusion: mean reciprocal rank {rank:.3f} over {len(observations):,} questions")
        weights, said = self._held_out(file, heads).check(weights, read_fusion_weights(shipped(file).fusion))
        self.report(said)
        default = own.path if own and own.path.parent == user_directory() else user_directory() / name
        write_profile(out or default, name, weights.document(), heads, adapter, used)
        return out or default

    def _heads(self, file: Path) -> Heads:
        corpus = corpus_of(Split.CALIBRATION, file, _HEADS_QUESTIONS)
        scenes = list(all_tasks()["describe"].scenes(corpus, _HEADS_TOKENS))
        with closing(Store(self.store)) as store:
            chosen = choose_heads(file, scenes, store, self.progress, self.cancellation)
        self.report(f"heads: {', '.join(f'layer {one.layer} head {one.head} {one.feature}' for one in chosen)}")
        return [asdict(one) for one in chosen]

    def _held_out(self, file: Path, heads: Heads | None) -> HeldOut:
        new = _Asking(file, Split.DEVELOPMENT, _HELD_OUT_QUESTIONS, self.store, heads)
        old = replace(new, heads=None, shipped=True)
        usual, small = (_items(_HELD_OUT, tokens, Split.DEVELOPMENT) for tokens in (_TOKENS, _SMALL_TOKENS))
        return HeldOut(*(list(self._observations(*one)) for one in ((new, usual), (old, usual), (new, small))))

    def _observations(self, asking: _Asking, items: Sequence[WorkItem]) -> Iterator[Observation]:
        with spread(self.jobs, self._here(asking), partial(_alone, asking)) as ask:
            for item, found in zip(items, ask(Observer.all_of, items), strict=True):
                if found:
                    self.report(f"{item.task} {item.repository}: {len(found)} questions")
                self.cancellation.check()
                yield from found

    @contextmanager
    def _here(self, asking: _Asking) -> Iterator[Observer]:
        with closing(Store(self.store)) as store:
            yield asking.observer(store, self.progress, self.cancellation)

    def _items(self) -> list[WorkItem]:
        # What asks for several things is scored part by part, and the parts of *multi* are what *describe* asks.
        fitted = (one for one in all_tasks().values() if one.name not in LEFT_OUT and (one.sized or self.thorough))
        tokens = _THOROUGH_TOKENS if self.thorough else _TOKENS
        return _items([one.name for one in fitted], tokens, Split.CALIBRATION)


def shipped(file: Path) -> OpenedProfile:
    """The profile of the drafter in a GGUF without any of the user's."""
    header = read_header(file)
    return open_profile(GgufTensors(file, header), shape_of(header, 1), header.block_count, shipped_only=True)


def _items(tasks: Sequence[str], tokens: int, split: Split) -> list[WorkItem]:
    return [WorkItem(task, tokens, asked.name) for task in tasks for asked in repositories(split, task)]


def _alone(asking: _Asking) -> Observer:
    """The observer of a process of its own."""
    return asking.observer(Store(asking.store), lambda _: None, Cancellation())
