"""The loop over tests, sizes and trials: what Winnow keeps, and what the target answers."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from winnow_engine.answer import Answer
from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation, Folder, Sampling, Span
from winnow_engine.index.workspace import Sources
from winnow_research.evaluation.cases import Gold, Scene
from winnow_research.evaluation.needles.base import Spot, Test, Trial, share_of
from winnow_research.evaluation.needles.materials import Material
from winnow_research.evaluation.scores import Result

KEPT, WINNOW, FULL = "kept", "Winnow", "full context"
_EVERYTHING = Budget(keep_ratio=1.0)
_SAMPLING = Sampling(max_tokens=128)


@dataclass
class NeedleRun:
    """What to hide, whom to ask, and how much may be kept. `absent` collects by method the reason why it has no answer.

    Without a target there is only KEPT, the share of golds kept whole. With one there are also answers from what was
    kept (WINNOW), and from the whole workspace (FULL) if the target's context holds it.
    """

    material: Material
    assistant: Assistant
    budget: Budget
    report: Callable[[str], None]
    cancellation: Cancellation = field(default_factory=Cancellation)
    absent: dict[str, str] = field(default_factory=dict)

    def run(self, tests: Iterable[Test], sizes: Sequence[int], count: int) -> Iterator[Result]:
        """The results of `count` trials of every test and size."""
        for test in tests:
            for tokens in sizes:
                self.report(f"{test.name} {tokens:,}")
                for number in range(count):
                    self.cancellation.check()
                    trial = test.trial(self.material, Spot(tokens, number, count))
                    for method, score in self._methods(trial):
                        yield Result(test.name, method, tokens, score)

    def _methods(self, trial: Trial) -> Iterator[tuple[str, float]]:
        with tempfile.TemporaryDirectory() as folder:
            Scene("", trial.files, ()).write(Path(folder))
            sources = Sources((Folder(Path(folder)),))
            if self.assistant.target is None:
                selected = self.assistant.select(
                    sources, trial.question, self.budget, cancellation=self.cancellation
                ).spans
            else:
                answer = self._ask(sources, trial, self.budget)
                selected = answer.spans
                yield WINNOW, share_of(trial.wanted, answer.text)
                yield from self._full(sources, trial)
            if trial.golds:
                yield KEPT, kept_share(selected, trial.golds)

    def _full(self, sources: Sources, trial: Trial) -> Iterator[tuple[str, float]]:
        answer = self._ask(sources, trial, _EVERYTHING)
        if answer.stats.selection.kept_tokens < answer.stats.selection.workspace_tokens:
            self.absent[FULL] = "not run where the workspace exceeds the target's context"
        else:
            yield FULL, share_of(trial.wanted, answer.text)

    def _ask(self, sources: Sources, trial: Trial, budget: Budget) -> Answer:
        return self.assistant.ask(
            sources, trial.question, budget, _SAMPLING, lambda _: None, cancellation=self.cancellation
        )


def kept_share(spans: Iterable[Span], golds: Sequence[Gold]) -> float:
    """The share of golds whose lines are all kept."""
    lines: dict[str, set[int]] = {}
    for span in spans:
        lines.setdefault(span.path, set()).update(range(span.start_line, span.end_line + 1))
    return sum(_lines(gold) <= lines.get(gold.path, set()) for gold in golds) / len(golds)


def _lines(gold: Gold) -> set[int]:
    return set(range(gold.start_line, gold.end_line + 1))
