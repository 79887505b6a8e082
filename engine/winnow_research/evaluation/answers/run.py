"""The loop over workspaces and questions, and the figures of a target."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Any

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation, Citation, Folder, Sentence
from winnow_engine.index.workspace import Sources
from winnow_engine.targets.answer import Answer
from winnow_research.evaluation.answers.items import Item, Scores, Sheet
from winnow_research.evaluation.cases import Scene
from winnow_research.evaluation.figures import wilson


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """An answer of a target with its scores and what it cost. `sizes` are numbers of tokens and seconds by name."""

    test: str
    target: str
    seed: int
    workspace: str
    workspace_tokens: int
    question: str
    scores: Scores
    text: str
    finish: str
    notices: tuple[str, ...]
    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]
    sizes: dict[str, float]

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


@dataclass
class AnswerRun:
    """A target that is asked, as the product asks it."""

    assistant: Assistant
    target: str
    seed: int
    budget: Budget
    report: Callable[[str], None]
    cancellation: Cancellation

    def run(self, sheets: Iterable[Sheet]) -> Iterator[JudgedAnswer]:
        """The answers to every question, sheet by sheet."""
        for sheet in sheets:
            with tempfile.TemporaryDirectory() as folder:
                Scene(sheet.name, sheet.files, ()).write(Path(folder))
                for number, item in enumerate(sheet.items, 1):
                    self.cancellation.check()
                    self.report(f"{self.target} {self.seed} {sheet.name} {number}/{len(sheet.items)}")
                    yield self._judged(sheet.name, item, self._answer(item, Sources((Folder(Path(folder)),))))

    def _answer(self, item: Item, sources: Sources) -> Answer:
        return self.assistant.ask(
            sources, item.question, self.budget, item.sampling, lambda _: None, cancellation=self.cancellation
        )

    def _judged(self, workspace: str, item: Item, answer: Answer) -> JudgedAnswer:
        return JudgedAnswer(
            test=item.test,
            target=self.target,
            seed=self.seed,
            workspace=workspace,
            workspace_tokens=answer.stats.selection.workspace_tokens,
            question=item.question.text,
            scores=item.scores(answer),
            text=answer.text,
            finish=answer.finish,
            notices=answer.notices,
            sentences=answer.sentences,
            citations=answer.citations,
            sizes=_sizes(answer),
        )


def _sizes(answer: Answer) -> dict[str, float]:
    generation = answer.stats.generation
    return {
        "tokens kept": answer.stats.selection.kept_tokens,
        "tokens of the prompt": generation.prompt_tokens,
        "tokens of the answer": generation.decode_tokens,
        "seconds to the first token": round(answer.stats.ttft_s, 3),
        "seconds in all": round(answer.stats.ttft_s + generation.decode_s, 3),
    }


def figures(answers: Iterable[JudgedAnswer]) -> list[dict[str, Any]]:
    """For each test, target and seed the mean of each score with Wilson's interval, and medians of the sizes."""

    def key(one: JudgedAnswer) -> tuple[str, str, int]:
        return one.test, one.target, one.seed

    return [_figure(*group, list(some)) for group, some in groupby(sorted(answers, key=key), key)]


def _figure(test: str, target: str, seed: int, answers: Sequence[JudgedAnswer]) -> dict[str, Any]:
    shares = {name: [one.scores[name] for one in answers] for name in answers[0].scores}
    estimates = {name: wilson(sum(some), len(some)) for name, some in shares.items()}
    return {
        "test": test,
        "target": target,
        "seed": seed,
        "answers": len(answers),
        "scores": {name: [round(x, 4) for x in (one.value, one.low, one.high)] for name, one in estimates.items()},
        "medians": {name: median(one.sizes[name] for one in answers) for name in answers[0].sizes},
    }
