"""`winnow/ask`, `winnow/spans`, and what helps to ask: `winnow/starters`, `winnow/prepare` and `winnow/symbols`."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, TypeVar

from lsprotocol import types

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Cancellation, Citation, Kept, Sentence, ignore
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.question import Question, Turn
from winnow_engine.selection.ranking import Selection, SelectionStats
from winnow_engine.selection.starters import starter_questions
from winnow_engine.targets.answer import Answer
from winnow_engine.targets.remote.address import is_url
from winnow_lsp.host.engines import Engine
from winnow_lsp.host.queue import Asker, Work
from winnow_lsp.host.settings import budget_of
from winnow_lsp.server.render.deltas import Deltas
from winnow_lsp.server.render.markdown import answer_page, spans_page
from winnow_lsp.server.render.progress_bars import ProgressBar
from winnow_lsp.server.render.results import answer_json, kept_json, selection_json, sentence_json
from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.session.editor import Folders, symbol_at
from winnow_lsp.server.session.indexing import on_battery
from winnow_lsp.server.wire.messages import ASK, PREPARE, SPANS, STARTERS, SYMBOLS, AskParams, ask_about
from winnow_lsp.server.wire.protocol import parsing

_MOST_SYMBOLS = 50
T = TypeVar("T")


def register(server: WinnowServer) -> None:
    """Offer the requests."""

    @server.feature(ASK)
    async def ask(params: AskParams) -> dict[str, Any]:
        return await answer(server, params)

    @server.feature(SPANS)
    async def spans(params: AskParams) -> dict[str, Any]:
        return await select(server, params)

    @server.feature(STARTERS)
    async def starters(_params: None) -> dict[str, Any]:
        return {"questions": await starters_of(server)}

    @server.feature(PREPARE)
    async def prepare(params: AskParams) -> dict[str, Any]:
        return {"prepared": await read_ahead(server, params.question)}

    @server.feature(SYMBOLS)
    async def symbols(params: types.WorkspaceSymbolParams) -> dict[str, Any]:
        return {"symbols": await symbols_of(server, params.query)}


async def answer(server: WinnowServer, params: AskParams, *, shown: bool = False) -> dict[str, Any]:
    """Queue a question, stream its answer, and remember it as a turn of its conversation. `shown`: as a page, too."""
    conversation = params.conversation or str(uuid.uuid4())
    answered, question, folders = await answered_in(server, params, conversation)
    if shown:
        title = question.text.partition("\n")[0]
        await server.pages.show(title, answer_page(title, answered, folders.location))
    return {"conversation": conversation, "question": question.text, **answer_json(answered, folders.location)}


@dataclass(frozen=True, slots=True)
class Queued:
    """A request to the models in a client's folders, with its bar. `queued` makes it."""

    server: WinnowServer
    engine: Engine
    folders: Folders
    bar: ProgressBar

    async def run(
        self,
        make: Callable[[Assistant, Sources], Work[T]],
        selection: Callable[[T], SelectionStats],
        *,
        needs_target: bool = True,
    ) -> T:
        """The result of what `make` makes in its turn, of documents as they are then; `selection` is the code in it."""
        seen = frozenset[str]()

        def prepare() -> Work[T]:
            nonlocal seen
            seen = frozenset(self.server.indexer.stale)
            return make(self.engine.assistant(), self.server.editor.sources(self.folders))

        asker = Asker(self.server, in_turn=True)
        found = await self.engine.queue.question(prepare, self._moved, asker, needs_target=needs_target)
        self.server.indexer.answered(seen, selection(found))
        return found

    def _moved(self, before: int) -> None:
        if before:
            self.bar.say(f"waiting, {before} before this one")
        else:
            self.server.bars.running = self.bar
            doing = "searching" if self.engine.drafter.state == "ready" else "loading models"
            read = self.folders.all and self.engine.latest(self.server.editor.sources(self.folders))
            self.bar.say(doing if read else "reading the workspace")


@asynccontextmanager
async def queued(server: WinnowServer, token: types.ProgressToken | None, supersedes: bool) -> AsyncIterator[Queued]:
    """A request that is unfinished during the block, begun once the client is configured and its models are named."""
    with server.questions.unfinished(supersedes):
        await server.editor.configured.wait()
        engine, folders = await server.acquire(), server.editor.current_folders()
        async with server.bars.show(token) as bar:
            bar.begin()
            yield Queued(server, engine, folders, bar)


async def answered_in(server: WinnowServer, params: AskParams, conversation: str) -> tuple[Answer, Question, Folders]:
    """The answer with the question and the folders that it is about, as the next turn of a conversation."""
    async with queued(server, params.work_done_token, params.supersedes) as request:
        bar, folders = request.bar, request.folders
        deltas = Deltas(server.protocol.notify, params.partial_result_token, bar.answer, bar.think)
        budget, question = _budget(server, params), await _question(server, params)

        def on_kept(kept: Kept) -> None:
            if not kept.provisional:
                bar.kept(kept)
            deltas.kept(kept_json(kept, folders.location))

        def on_sentence(sentence: Sentence) -> None:
            deltas.sentence(sentence_json(sentence, folders.location))

        def make(assistant: Assistant, sources: Sources) -> Work[Answer]:
            nonlocal question
            if params.earlier is not None:
                server.conversations[conversation] = list(params.earlier)
            question = replace(question, earlier=tuple(server.conversations.get(conversation, ())))
            sampling = server.editor.settings.sampling
            return lambda cancellation: assistant.ask(
                sources, question, budget, sampling, deltas.add, bar.report, cancellation, on_kept,
                deltas.think, on_sentence,
            )  # fmt: skip

        try:
            answered = await request.run(make, lambda answer: answer.stats.selection)
        except asyncio.CancelledError:
            if deltas.text:  # a follow-up knows what was shown
                server.conversations.setdefault(conversation, []).append(Turn(question.text, deltas.text))
            raise
        finally:
            deltas.close()
        server.conversations.setdefault(conversation, []).append(Turn(question.text, answered.text))
        return answered, question, folders


async def select(server: WinnowServer, params: AskParams, *, shown: bool = False) -> dict[str, Any]:
    """Queue a question, and return what the target would see for it. `shown`: as a page, too."""
    async with queued(server, params.work_done_token, params.supersedes) as request:
        budget, question = _budget(server, params), await _question(server, params)

        def make(assistant: Assistant, sources: Sources) -> Work[Selection]:
            return lambda cancellation: assistant.select(sources, question, budget, request.bar.report, cancellation)

        selected, locate = await request.run(make, lambda one: one.stats, needs_target=False), request.folders.location
    if shown:
        title = question.text.partition("\n")[0]
        await server.pages.show(title, spans_page(title, selected, locate))
    return {"question": question.text, **selection_json(selected, locate)}


async def in_background(server: WinnowServer, make: Callable[[Engine], Work[T]]) -> T:
    """The result of what `make` makes while nobody asks."""
    with server.questions.unfinished(supersedes=False):
        await server.editor.configured.wait()
        engine = await server.acquire()
        return await engine.queue.background(lambda: make(engine))


async def starters_of(server: WinnowServer) -> list[str]:
    """Questions to begin with, from the workspace as it is read while nobody asks."""

    def make(engine: Engine) -> Work[list[str]]:
        sources, assistant = server.editor.sources(server.editor.folders), engine.assistant()
        return lambda cancellation: starter_questions(assistant.read(sources, cancellation), cancellation)

    return await in_background(server, make)


async def symbols_of(server: WinnowServer, word: str) -> list[dict[str, Any]]:
    """Symbols whose names hold a word, the best first, and where each is defined; none until the workspace is read."""

    def found(workspace: Workspace) -> list[dict[str, Any]]:
        named = islice(workspace.symbols.completing(word), _MOST_SYMBOLS)
        defined = [(name, *workspace.units[workspace.symbols.defining(name)[0]]) for name in named]
        places = [(name, Citation(file.path, unit.start_line, unit.end_line)) for name, file, unit in defined]
        return [{"name": name, "location": folders.location(place)} for name, place in places]

    await server.editor.configured.wait()
    folders = server.editor.current_folders()
    workspace = (await server.acquire()).latest(server.editor.sources(folders))
    return await asyncio.to_thread(found, workspace) if workspace else []


async def read_ahead(server: WinnowServer, text: str) -> bool:
    """Have a target in this process read the prompt of a first question while nobody asks; False if it does not.

    Not once something was asked, whose prompt a follow-up continues, and not on battery.
    """

    def make(engine: Engine) -> Work[bool]:
        if engine is not server.engine or server.conversations or is_url(engine.models.target) or on_battery():
            return lambda _: False
        sources, assistant = server.editor.sources(server.editor.folders), engine.assistant()
        budget, sampling = settings_budget(server), replace(server.editor.settings.sampling, max_tokens=1)

        def work(cancellation: Cancellation) -> bool:
            for _ in range(2):  # how fast the target reads, which the first time shows, decides how much is kept
                assistant.ask(sources, Question(text), budget, sampling, ignore, cancellation=cancellation)
            return True

        return work

    return await in_background(server, make)


async def _question(server: WinnowServer, params: AskParams) -> Question:
    """The question, once all requests before it are worded. Raises PositionError outside the workspace."""
    async with server.questions.in_order:
        worded = await _worded(server, params)
        return worded if params.changes is None else replace(worded, changes=params.changes, changed_in=params.folders)


async def _worded(server: WinnowServer, params: AskParams) -> Question:
    if params.text_document is None or params.range is None:
        if params.text_document is not None:
            server.editor.folders.path(params.text_document.uri)
        with parsing():
            return Question(params.question)
    uri = params.text_document.uri
    with parsing():
        cursor = server.editor.folders.cursor(uri, params.range)
        if params.about is None:
            return Question(params.question, cursor)
    return ask_about(params.about, cursor, await symbol_at(server.editor, uri, params.range), params.problems)


def _budget(server: WinnowServer, params: AskParams) -> Budget:
    budget = settings_budget(server)
    return budget if params.budget is None else budget_of(budget, params.budget)


def settings_budget(server: WinnowServer) -> Budget:
    """The settings' budget. Where nothing indexes later, a question waits for the index."""
    budget = server.editor.settings.budget
    return replace(budget, first_look_tokens=0) if server.editor.settings.index_automatic == "off" else budget
