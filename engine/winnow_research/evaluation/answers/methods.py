"""Ways to choose what the target reads before it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation, Sampling, Span
from winnow_engine.errors import EvaluationError
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.layout import build_messages
from winnow_engine.question import Question
from winnow_engine.selection.budget import KeptUnit
from winnow_engine.targets.base import Request
from winnow_research.evaluation.methods.base import Method, Subject

Ask = Callable[[Question, Sampling], str]


class AnswerMethod(Protocol):
    """One way, a line of the tables."""

    @property
    def name(self) -> str:
        """Its name in the tables."""

    def about(self, subject: Subject) -> Ask:
        """Prepare a workspace for questions. WinnowError if this method cannot run here."""


@dataclass(frozen=True)
class Product:
    """What a user gets with a budget. With a budget of everything this is the full context."""

    name: str
    assistant: Assistant
    budget: Budget
    cancellation: Cancellation

    def about(self, subject: Subject) -> Ask:
        """See `AnswerMethod`. Asking for everything is an EvaluationError if the target's context does not hold it."""

        def ask(question: Question, sampling: Sampling) -> str:
            answer = self.assistant.ask(
                subject.sources, question, self.budget, sampling, lambda _: None, cancellation=self.cancellation
            )
            if (
                self.budget.keep_ratio == 1
                and answer.stats.selection.kept_tokens < answer.stats.selection.workspace_tokens
            ):
                raise EvaluationError("the workspace exceeds the target's context: choose a smaller one")
            return answer.text

        return ask


@dataclass(frozen=True)
class Alternative:
    """The same target and prompt, with code that a method of the relevance evaluation chooses."""

    method: Method
    assistant: Assistant
    budget: Budget
    cancellation: Cancellation

    @property
    def name(self) -> str:
        """The name of the method."""
        return self.method.name

    def about(self, subject: Subject) -> Ask:
        """See `AnswerMethod`."""
        assert self.assistant.target is not None
        target, ranker = self.assistant.target.wait_for(self.cancellation), self.method.ranker(subject)

        def ask(question: Question, sampling: Sampling) -> str:
            tokens = self.budget.tokens(subject.tokens)
            assert tokens is not None, "methods are compared at a budget in tokens"
            spans = _spans(subject.workspace, ranker(question).keep(tokens))
            prompt = target.chat_prompt(build_messages(subject.workspace, spans, question))
            return target.generate(Request(prompt, sampling, cancellation=self.cancellation)).text

        return ask


def _spans(workspace: Workspace, pieces: list[KeptUnit]) -> list[Span]:
    return [
        Span(file.path, piece.start_line, piece.end_line, piece.tokens, 0.0, unit.kind, unit.name)
        for piece in pieces
        for file, unit in [workspace.units[piece.unit]]
    ]
