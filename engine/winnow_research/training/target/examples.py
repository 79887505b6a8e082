"""Prompts as the product makes them for a small target, with the answers to learn."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from winnow_cuda.shapes import Int32
from winnow_engine.core import Cancellation, Folder, Span
from winnow_engine.index.workspace import Sources, Workspace, read_workspace
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.prompting.layout import SMALL_CONTRACT, asks, build_messages
from winnow_engine.prompting.messages import Message
from winnow_engine.question import Question
from winnow_engine.storage.store import Store
from winnow_engine.targets.local.chat_template import CHATML, ChatTemplate
from winnow_research.evaluation.cases import Gold, Scene, without_lines
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.tasks.describe import case, choose, documentation_of
from winnow_research.training.projects import Project
from winnow_research.training.target.written import WrittenAnswer

_WRITE_OUT = "Write out the whole code of the function that does this, word for word, in one block of code: {sentence}"
_WORKSPACE_TOKENS = 24_000
_CHAT = Path(__file__).parent / "chat.json"
_TOKENS, _FUNCTION_TOKENS = 1_200, 2_600  # of code, as the product and its evaluation show
_LONGEST_GOLD = 500  # tokens of a unit that is shown whole; of a longer one its gold lines alone
_LEFT_OUT = 0.12  # of the units that words put first, so that no place in the prompt tells the answer
_GOLD_LAST = 0.65  # of the prompts, as often as the product's ranking is right
_RIVALS = 60  # units that BM25 puts first, among which the golds are shown
_FUNCTIONS = 12  # written out, of each project


@dataclass(frozen=True)
class TaughtExample:
    """A prompt with what is to be learnt; without an answer, what the target itself answers at first.

    `facts` are those of an answer that the code shown gives; none where it does not.
    """

    kind: str
    prompt: Int32
    answer: Int32 | None
    facts: tuple[tuple[str, ...], ...] = ()
    shown: str = ""


class ExampleWriter:
    """Writes examples with a target's own chat template. Equal seeds give equal examples."""

    def __init__(self, target: Path, seed: int = 0) -> None:
        model = LlamaModel(target, vocabulary_only=True)
        self.vocabulary = Vocabulary(model)
        self._template = ChatTemplate(model.chat_template or CHATML, self.vocabulary.special_texts())
        (self._end,) = self._template.turn_ends(self.vocabulary)
        self._rng = random.Random(seed)

    def chat(self) -> Iterator[TaughtExample]:
        """Prompts without code of a project: what the target is not to lose."""
        for text in json.loads(_CHAT.read_text("utf-8")):
            yield self._example("chat", [Message("user", text)], None)

    def about(self, project: Project, answers: Iterable[WrittenAnswer]) -> Iterator[TaughtExample]:
        """Each question with the code that answers it, twice, or without; and functions to write out."""
        files = project.repository.files()
        with _indexed(Scene(project.name, files, ())) as workspace:
            for one in answers:
                yield from self._questions(workspace, one)
        corpus = Corpus((project.repository,), self._count, _FUNCTIONS)
        haystack = corpus.haystack(project.repository, files, _WORKSPACE_TOKENS)
        chosen = choose(corpus, haystack, _FUNCTIONS)
        scene = haystack.scene(case("function", one.sentence, [one]) for one in chosen)
        scene = without_lines(scene, documentation_of(chosen))
        with _indexed(scene) as workspace:
            for asked in scene.cases:
                (gold,) = asked.golds
                code = workspace.files[workspace.file_number(gold.path)].text_of_lines(gold.start_line, gold.end_line)
                fenced = f"```{project.language}\n{code.rstrip()}\n```"
                text = _WRITE_OUT.format(sentence=asked.question.text)
                yield self._shown("function", workspace, text, [gold], fenced, _FUNCTION_TOKENS)

    def _questions(self, workspace: Workspace, one: WrittenAnswer) -> Iterator[TaughtExample]:
        for _ in range(2):
            shown = self._shown("answer" if one.facts else "refusal", workspace, one.question, one.golds, one.answer)
            yield replace(shown, facts=one.facts)
        if one.missing:
            yield self._shown("refusal", workspace, one.question, (), one.missing, without=one.golds)

    def _shown(
        self,
        kind: str,
        workspace: Workspace,
        text: str,
        golds: Sequence[Gold],
        answer: str,
        tokens: int = _TOKENS,
        without: Sequence[Gold] = (),
    ) -> TaughtExample:
        question = Question(text)
        spans = self._spans(
            workspace, question, golds, tokens, {n for gold in without for n in _units(workspace, gold)}
        )
        contract = SMALL_CONTRACT if asks(text) else ""
        return self._example(kind, build_messages(workspace, spans, question, contract=contract), answer)

    def _example(self, kind: str, messages: list[Message], answer: str | None) -> TaughtExample:
        learnt = None if answer is None else np.append(self.vocabulary.tokenize(answer), np.int32(self._end))
        return TaughtExample(
            kind, self._template.tokenize(messages, self.vocabulary).tokens, learnt, (), messages[-1].content
        )

    def _count(self, text: str) -> int:
        return len(self.vocabulary.tokenize(text))

    def _spans(
        self, workspace: Workspace, question: Question, golds: Sequence[Gold], tokens: int, without: set[int]
    ) -> list[Span]:
        """The golds among the units that words, names and paths put first, with scores that order their files."""
        last = self._rng.random() < _GOLD_LAST
        found = {unit: self._gold(workspace, unit, gold) for gold in golds for unit in _units(workspace, gold)}
        room = tokens - sum(span.tokens for span in found.values())
        found = {unit: replace(span, score=self._rng.random() + last) for unit, span in found.items()}
        for unit in np.argsort(-workspace.lexical.score(question.text))[:_RIVALS].tolist():
            if unit not in found and unit not in without and self._rng.random() > _LEFT_OUT:
                span = self._whole(workspace, unit)
                if span.tokens <= min(room, tokens // 2):
                    found[unit] = replace(span, score=self._rng.random())
                    room -= span.tokens
        return [found[unit] for unit in sorted(found)]

    def _whole(self, workspace: Workspace, number: int) -> Span:
        file, unit = workspace.units[number]
        tokens = self._count(file.text_of(unit))
        return Span(file.path, unit.start_line, unit.end_line, tokens, 0.0, unit.kind, unit.name)

    def _gold(self, workspace: Workspace, number: int, gold: Gold) -> Span:
        span = self._whole(workspace, number)
        if span.tokens <= _LONGEST_GOLD:
            return span
        first, last = max(span.start_line, gold.start_line), min(span.end_line, gold.end_line)
        text = workspace.units[number][0].text_of_lines(first, last)
        return replace(span, start_line=first, end_line=last, tokens=self._count(text))


@contextmanager
def _indexed(scene: Scene) -> Iterator[Workspace]:
    with tempfile.TemporaryDirectory() as folder, closing(Store(Path(folder, "store"))) as store:
        root = Path(folder, "files")
        root.mkdir()
        scene.write(root)
        yield read_workspace(Sources((Folder(root),)), store, Cancellation(), None)


def _units(workspace: Workspace, gold: Gold) -> list[int]:
    return list(workspace.units_at(gold.path, gold.start_line, gold.end_line))
