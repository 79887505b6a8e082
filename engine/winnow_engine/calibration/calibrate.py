"""A drafter's whole calibration: from its GGUF to the document of its profile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from winnow_engine.calibration.fusion import fit_gate, mean_reciprocal_rank
from winnow_engine.calibration.heads import choose_heads
from winnow_engine.calibration.observing import Observation, observe
from winnow_engine.core import Cancellation, ProgressSink
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.drafter.heads import heads_of
from winnow_engine.drafter.profiles import adapter_of, calibrated_directory, fingerprint
from winnow_engine.drafter.weights import GgufTensors, shape_of
from winnow_engine.evaluation.cases import Scene
from winnow_engine.evaluation.corpus import Corpus
from winnow_engine.evaluation.families import all_families
from winnow_engine.evaluation.repositories import Split, repositories
from winnow_engine.index.store import Store
from winnow_engine.keys import KeyCache
from winnow_engine.llama.model import Model
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.models.gguf_header import read_header

_HEADS_TOKENS, _HEADS_QUESTIONS = 8_000, 8  # a workspace
_TOKENS, _QUESTIONS = 16_000, 16
_THOROUGH_TOKENS, _THOROUGH_QUESTIONS = 128_000, 32

Report = Callable[[str], None]
"""Told in a sentence what was found."""


@dataclass(frozen=True)
class Calibration:
    """What to calibrate with. `thorough` takes workspaces of 128K tokens instead of 16K, and whole repositories too."""

    store: Store
    thorough: bool
    report: Report
    progress: ProgressSink
    cancellation: Cancellation

    def run(self, file: Path) -> dict[str, Any]:
        """The profile's document for the drafter in a GGUF; where an adapter ships for it, with that instead of heads.

        Fetches the calibration repositories on first use. Raises what opening a drafter raises, EvaluationError and
        CancelledError.
        """
        adapter = adapter_of(GgufTensors(file, read_header(file)))
        scorer: dict[str, Any] = {"adapter": adapter} if adapter else {"heads": self._heads(file)}
        drafter = Drafter(file) if adapter else self._with_heads(file, scorer["heads"])
        observations = list(self._observations(file, drafter))
        gate = fit_gate(observations)
        rank = mean_reciprocal_rank(observations, gate)
        self.report(f"fusion: mean reciprocal rank {rank:.3f} over {len(observations):,} questions")
        return {**scorer, "fusion": gate.document()}

    def _heads(self, file: Path) -> list[dict[str, Any]]:
        scenes = list(all_families()["describe"].scenes(self._corpus(file, _HEADS_QUESTIONS), _HEADS_TOKENS))
        chosen = choose_heads(file, scenes, self.store, self.progress, self.cancellation)
        self.report(f"heads: {', '.join(f'layer {one.layer} head {one.head} {one.feature}' for one in chosen)}")
        return [asdict(one) for one in chosen]

    def _with_heads(self, file: Path, heads: list[dict[str, Any]]) -> Drafter:
        return Drafter(file, heads_of(heads, shape_of(read_header(file), 1).group))

    def _observations(self, file: Path, drafter: Drafter) -> Iterator[Observation]:
        cache = KeyCache(self.store, drafter)
        for scene in self._scenes(file):
            if scene.cases:
                self.report(f"{scene.cases[0].family} {scene.name}: {len(scene.cases)} questions")
                yield from observe(scene, cache, self.progress, self.cancellation)

    def _scenes(self, file: Path) -> Iterator[Scene]:
        corpus = self._corpus(file, _THOROUGH_QUESTIONS if self.thorough else _QUESTIONS)
        for family in all_families().values():
            if family.sized or self.thorough:
                yield from family.scenes(corpus, _THOROUGH_TOKENS if self.thorough else _TOKENS)

    def _corpus(self, file: Path, questions: int) -> Corpus:
        vocabulary = Vocabulary(Model(file, vocabulary_only=True))
        return Corpus(repositories(Split.CALIBRATION), lambda text: len(vocabulary.tokenize(text)), questions)


def place_of(file: Path) -> Path:
    """Where the profile of the drafter in a GGUF is looked for."""
    return calibrated_directory() / f"{fingerprint(GgufTensors(file, read_header(file)))}.json"
