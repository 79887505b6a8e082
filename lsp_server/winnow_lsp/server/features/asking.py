"""`winnow/ask`, `winnow/spans`, and what helps to ask: `winnow/starters`, `winnow/prepare` and `winnow/symbols`."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

from lsprotocol import types

from winnow_engine.core import Budget, Cancellation, Citation, Kept, Sentence, ignore
from winnow_engine.index.workspace import Workspace
from winnow_engine.question import Question, Turn
from winnow_engine.selection.ranking import Selection
from winnow_engine.selection.starters import starter_questions
from winnow_engine.targets.answer import Answer
from winnow_engine.targets.remote.address import is_url
from winnow_lsp.host.engines import Engine
from winnow_lsp.host.queue import Asker, Work
from winnow_lsp.host.settings import budget_of
from winnow_lsp.server.render.deltas import Deltas
from winnow_lsp.server.render.progress_bars import ProgressBar
from winnow_lsp.server.render.results import answer_json, kept_json, selection_json, sentence_json
from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.session.editor import Folders, symbol_at
from winnow_lsp.server.session.indexing import on_battery
from winnow_lsp.server.wire.messages import ASK, PREPARE, SPANS, STARTERS, SYMBOLS, AskParams, ask_about
from winnow_lsp.server.wire.protocol import parsing

_MOST_SYMBOLS = 50


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


async def answer(server: WinnowServer, params: AskParams) -> dict[str, Any]:
    """Queue a question, stream its answer, and remember it as a turn of its conversation."""
    conversation = params.conversation or str(uuid.uuid4())
    answered, question, folders = await answered_in(server, params, conversation)
    return {"conversation": conversation, "question": question.text, **answer_json(answered, folders.location)}


async def answered_in(server: WinnowServer, params: AskParams, conversation: str) -> tuple[Answer, Question, Folders]:
    """The answer with the question and the folders that it is about, as the next turn of a conversation."""
    with server.questions.unfinished(params.supersedes):
        await server.editor.configured.wait()
        budget, engine, folders = _budget(server, params), await server.acquire(), server.editor.folders
        async with server.bars.show(params.work_done_token) as bar:
            bar.begin()
            deltas = Deltas(server.protocol.notify, params.partial_result_token, bar.answer, bar.think)
            seen, question = frozenset[str](), await _question(server, params)

            def on_kept(kept: Kept) -> None:
                if not kept.provisional:
                    bar.kept(kept)
                deltas.kept(kept_json(kept, folders.location))

            def on_sentence(sentence: Sentence) -> None:
                deltas.sentence(sentence_json(sentence, folders.location))

            def prepare() -> Work[Answer]:
                nonlocal seen, question
                if params.earlier is not None:
                    server.conversations[conversation] = list(params.earlier)
                earlier = tuple(server.conversations.get(conversation, ()))
                seen, question = frozenset(server.indexer.stale), replace(question, earlier=earlier)
                sources, assistant = server.editor.sources(folders), engine.assistant()
                sampling = server.editor.settings.sampling

                def work(cancellation: Cancellation) -> Answer:
                    return assistant.ask(
                        sources, question, budget, sampling, deltas.add, bar.report, cancellation, on_kept,
                        deltas.think, on_sentence,
                    )  # fmt: skip

                return work

            try:
                answered = await engine.queue.question(prepare, moved(server, engine, bar), Asker(server, in_turn=True))
            finally:
                deltas.close()
        server.indexer.answered(seen, answered.stats.selection)
        server.conversations.setdefault(conversation, []).append(Turn(question.text, answered.text))
        return answered, question, folders


async def select(server: WinnowServer, params: AskParams) -> dict[str, Any]:
    """Queue a question, and return what the target would see for it."""
    with server.questions.unfinished(params.supersedes):
        await server.editor.configured.wait()
        budget, engine, folders = _budget(server, params), await server.acquire(), server.editor.folders
        async with server.bars.show(params.work_done_token) as bar:
            bar.begin()
            seen, question = frozenset[str](), await _question(server, params)

            def prepare() -> Work[Selection]:
                nonlocal seen
                seen = frozenset(server.indexer.stale)
                sources, assistant = server.editor.sources(folders), engine.assistant()
                return lambda cancellation: assistant.select(sources, question, budget, bar.report, cancellation)

            selected = await engine.queue.question(prepare, moved(server, engine, bar), Asker(server, in_turn=True))
        server.indexer.answered(seen, selected.stats)
        return {"question": question.text, **selection_json(selected, folders.location)}


async def starters_of(server: WinnowServer) -> list[str]:
    """Questions to begin with, from the workspace as it is read while nobody asks."""

    def prepare() -> Work[list[str]]:
        sources, assistant = server.editor.sources(server.editor.folders), engine.assistant()
        return lambda cancellation: starter_questions(assistant.read(sources, cancellation), cancellation)

    with server.questions.unfinished(supersedes=False):
        await server.editor.configured.wait()
        return await (engine := await server.acquire()).queue.background(prepare)


async def symbols_of(server: WinnowServer, word: str) -> list[dict[str, Any]]:
    """Symbols whose names hold a word, the best first, and where each is defined; none until the workspace is read."""

    def found(workspace: Workspace) -> list[dict[str, Any]]:
        named = islice(workspace.symbols.completing(word), _MOST_SYMBOLS)
        defined = [(name, *workspace.units[workspace.symbols.defining(name)[0]]) for name in named]
        places = [(name, Citation(file.path, unit.start_line, unit.end_line)) for name, file, unit in defined]
        return [{"name": name, "location": folders.location(place)} for name, place in places]

    await server.editor.configured.wait()
    folders = server.editor.folders
    workspace = (await server.acquire()).latest(server.editor.sources(folders))
    return await asyncio.to_thread(found, workspace) if workspace else []


async def read_ahead(server: WinnowServer, text: str) -> bool:
    """Have a target in this process read the prompt of a first question while nobody asks; False if it does not.

    Not once something was asked, whose prompt a follow-up continues, and not on battery.
    """

    def prepare() -> Work[bool]:
        if engine is not server.engine or server.conversations or is_url(engine.models.target) or on_battery():
            return lambda _: False
        sources, assistant = server.editor.sources(server.editor.folders), engine.assistant()
        budget, sampling = settings_budget(server), replace(server.editor.settings.sampling, max_tokens=1)

        def work(cancellation: Cancellation) -> bool:
            for _ in range(2):  # how fast the target reads, which the first time shows, decides how much is kept
                assistant.ask(sources, Question(text), budget, sampling, ignore, cancellation=cancellation)
            return True

        return work

    with server.questions.unfinished(supersedes=False):
        await server.editor.configured.wait()
        return await (engine := await server.acquire()).queue.background(prepare)


async def _question(server: WinnowServer, params: AskParams) -> Question:
    """The question, once all requests before it are worded. Raises PositionError outside the workspace."""
    async with server.questions.in_order:
        worded = await _worded(server, params)
        return worded if params.changes is None else replace(worded, changes=params.changes)


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


def moved(server: WinnowServer, engine: Engine, bar: ProgressBar) -> Callable[[int], None]:
    """Tells a question's place in the queue by its bar."""

    def now(before: int) -> None:
        if before:
            bar.say(f"waiting, {before} before this one")
        else:
            server.bars.running = bar
            bar.say("searching" if engine.drafter.state == "ready" else "loading models")

    return now
