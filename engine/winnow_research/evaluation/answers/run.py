"""The loop over workspaces, methods and questions."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from winnow_engine.core import Cancellation, Folder, Sampling
from winnow_engine.errors import CancelledError, WinnowError
from winnow_engine.index.workspace import Sources, read_workspace
from winnow_engine.storage.store import Store
from winnow_research.evaluation.answers import functions
from winnow_research.evaluation.answers.items import Sheet
from winnow_research.evaluation.answers.methods import AnswerMethod, Ask
from winnow_research.evaluation.cases import Scene
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.methods.base import Subject
from winnow_research.evaluation.scores import Result


@dataclass(frozen=True, slots=True)
class JudgedAnswer(Result):
    """A result with its workspace, its question, and the text that the target wrote."""

    workspace: str
    question: str
    text: str

    def as_json(self) -> dict[str, Any]:
        """All fields. The key `row` has the method, as in documents of earlier versions."""
        return {{"method": "row"}.get(name, name): value for name, value in asdict(self).items()}


@dataclass
class AnswerRun:
    """What to ask, and with which methods. `absent` collects by method the reason why it could not answer.

    The questions about a workspace come one after the other, so that the full context is evaluated once.
    """

    corpus: Corpus
    methods: Sequence[AnswerMethod]
    store: Store
    report: Callable[[str], None]
    cancellation: Cancellation = field(default_factory=Cancellation)
    absent: dict[str, str] = field(default_factory=dict)

    def run(self, tokens: int) -> Iterator[JudgedAnswer]:
        """The answers to every question about workspaces of at most `tokens` tokens."""
        for sheet in sheets(self.corpus, tokens):
            with tempfile.TemporaryDirectory() as folder:
                Scene(sheet.name, sheet.files, ()).write(Path(folder))
                sources = Sources((Folder(Path(folder)),))
                workspace = read_workspace(sources, self.store, self.cancellation)
                subject = Subject(sources, workspace, self.store, self.corpus.count)
                for method in self.methods:
                    self.report(f"{sheet.name} {method.name}")
                    yield from self._method(method, subject, sheet, tokens)

    def _method(self, method: AnswerMethod, subject: Subject, sheet: Sheet, tokens: int) -> Iterator[JudgedAnswer]:
        try:
            ask = method.about(subject)
            yield from self._answers(ask, method.name, sheet, tokens)
        except CancelledError:
            raise
        except WinnowError as error:
            self.absent[method.name] = str(error)

    def _answers(self, ask: Ask, method: str, sheet: Sheet, tokens: int) -> Iterator[JudgedAnswer]:
        for item in sheet.items:
            self.cancellation.check()
            text = ask(item.question, Sampling(max_tokens=item.most_tokens))
            yield JudgedAnswer(item.test, method, tokens, float(item.right(text)), sheet.name, item.question.text, text)


def sheets(corpus: Corpus, tokens: int) -> Iterator[Sheet]:
    """A workspace for each repository, with at most `corpus.questions` functions to ask."""
    for haystack in corpus.haystacks(tokens):
        yield functions.sheet(corpus, haystack, corpus.questions)
