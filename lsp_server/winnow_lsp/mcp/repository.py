"""The tools' requests to a repository: questions in the engine's queue, with progress and typed results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from winnow_engine.assistant import Assistant
from winnow_engine.config import Config
from winnow_engine.core import Budget, Cancellation, Kept, Progress
from winnow_engine.errors import NothingMatchesError, PositionError, WinnowError
from winnow_engine.index.scope import files_in, matching_lines
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.question import Cursor, Question
from winnow_engine.selection.ranking import Selection
from winnow_engine.targets.answer import Answer
from winnow_lsp.host.engines import Engine
from winnow_lsp.host.queue import Asker, Work
from winnow_lsp.host.reply import Waiting
from winnow_lsp.mcp.arguments import Arguments
from winnow_lsp.mcp.presentation import explained, found_code, found_lines, outlined, place_of
from winnow_lsp.mcp.results import Explained, FoundCode, ModelAnswer, Outlined
from winnow_lsp.mcp.workspace import workspace_place

_EVERY_S = 0.5
_MOST_PLACES = 5

Send = Callable[[float, str], Awaitable[None]]  # sends a number that grows and a line to the client
T = TypeVar("T")
_CODE_SHARE = 0.9  # of a result's tokens; the rest names places
_FIRST_LOOK_TOKENS = 2000  # agents ask often, and the index has more each time
_UNLIMITED_S = 1e9  # an agent's model, not the target here, reads what is found


class Reports:
    """The line that a call shows: `async with` sends it whenever it has changed. Its sinks take any thread."""

    def __init__(self, send: Send) -> None:
        self._send, self._waiting = send, Waiting()
        self._line = ""

    def moved(self, before: int) -> None:
        """Note how many questions come first."""
        self._line = f"waiting, {before} before this one" if before else "searching"

    def progress(self, progress: Progress) -> None:
        """Note how far the index is, or the target with the prompt."""
        self._line = self._waiting.reported(progress)

    def kept(self, kept: Kept) -> None:
        """Note what the answer will rest on."""
        self._waiting.kept(kept)
        places = [f"{span.path}:{span.start_line}-{span.end_line}" for span in kept.spans[:_MOST_PLACES]]
        line = "searching" if kept.provisional else self._waiting.line()
        self._line = f"{line}; found {', '.join(places)}" if places else line

    def text(self, _: str) -> None:
        """Note that the answer is being written."""
        self._line = "answering"

    async def __aenter__(self) -> Reports:
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _follow(self) -> None:
        sent, said = 0.0, ""
        while True:
            await asyncio.sleep(_EVERY_S)
            if self._line != said:
                sent, said = sent + 1, self._line
                await self._send(sent, said)


class AgentRepository:
    """One client's repository, whose folders may change from call to call. Belongs to the event loop."""

    def __init__(self, engine: Engine, config: Config) -> None:
        self._engine, self._config = engine, config
        self._indexing: asyncio.Task[None] | None = None

    async def find(self, sources: Sources, asked: Arguments, reports: Reports) -> FoundCode:
        """The code that matters to a question, as much as it needs and the budget allows; or the lines that match."""
        asked = replace(asked, paths=_paths(sources, asked.paths))
        by_meaning = bool(asked.question.strip())
        if not by_meaning and not asked.pattern:
            raise ValueError("there is nothing to look for: give a question, a pattern, or both")

        def work(assistant: Assistant, cancellation: Cancellation) -> FoundCode:
            try:
                if by_meaning:
                    return self._ranked(assistant, sources, asked, reports, cancellation)
                workspace, count = _read(assistant, sources, cancellation)
                paths, notices = known_paths(workspace, asked.paths)
                found = matching_lines(workspace, files_in(workspace, paths), asked.pattern, cancellation)
                return found_lines(workspace, found, replace(asked, notices=(*asked.notices, *notices)), count)
            except NothingMatchesError as error:
                missing = known_paths(assistant.read(sources, cancellation), asked.paths)[1]
                return FoundCode(spans=[], index_complete=True, notices=[*asked.notices, *missing, str(error)])

        found = await self._run(work, reports)
        if not found.index_complete and by_meaning:
            self.index(sources)
        return found

    def _ranked(
        self, assistant: Assistant, sources: Sources, asked: Arguments, reports: Reports, cancellation: Cancellation
    ) -> FoundCode:
        budget = code_budget(self._config.budget, asked.budget, fill=bool(asked.pattern))

        def select(question: Question) -> Selection:
            return assistant.select(sources, question, budget, reports.progress, cancellation)

        question = Question(asked.question, paths=asked.paths, pattern=asked.pattern)
        selection, notices = _on_known_paths(select, question, assistant, sources, cancellation)
        selection = replace(selection, notices=(*asked.notices, *notices, *selection.notices))
        return found_code(selection, asked.budget, assistant.keys.wait_for(cancellation).drafter.count)

    async def explain(self, sources: Sources, asked: Arguments, reports: Reports) -> Explained:
        """The definitions that a place uses, and its users."""
        path, lines = workspace_place(sources.folders, asked.path)
        first, last = lines or (None, None)
        if asked.start_line is not None:
            first, last = asked.start_line, asked.end_line

        def work(assistant: Assistant, cancellation: Cancellation) -> Explained:
            workspace, count = _read(assistant, sources, cancellation)
            cursor = lines_of_file(workspace, path, first, last)
            return explained(workspace, cursor, asked, count)

        return await self._run(work, reports)

    async def outline(self, sources: Sources, asked: Arguments, reports: Reports) -> Outlined:
        """The contents of a folder or file."""
        path = workspace_place(sources.folders, asked.path)[0]

        def work(assistant: Assistant, cancellation: Cancellation) -> Outlined:
            workspace, count = _read(assistant, sources, cancellation)
            return outlined(workspace, meant(workspace, path), asked, count)

        return await self._run(work, reports)

    async def answer(self, sources: Sources, asked: Arguments, reports: Reports) -> ModelAnswer:
        """The target's answer."""
        question, config = Question(asked.question, paths=_paths(sources, asked.paths)), self._config

        def work(assistant: Assistant, cancellation: Cancellation) -> ModelAnswer:
            def ask(question: Question) -> Answer:
                followed = reports.text, reports.progress, cancellation, reports.kept
                return assistant.ask(sources, question, config.budget, config.sampling, *followed)

            answer, notices = _on_known_paths(ask, question, assistant, sources, cancellation)
            kept = Kept.of(answer.spans, None).spans
            return ModelAnswer(
                answer=answer.text,
                complete=answer.finish != "length",
                sentences=list(answer.sentences),
                citations=list(answer.citations),
                rests_on=[place_of(span) for span in kept],
                notices=[*asked.notices, *notices, *answer.notices],
            )

        return await self._run(work, reports, needs_target=True)

    def index(self, sources: Sources | Callable[[], Awaitable[Sources]]) -> None:
        """Bring the index up to date while nobody asks, unless that is under way."""
        if self._indexing is None or self._indexing.done():
            self._indexing = asyncio.create_task(self._index(sources))

    async def leave(self) -> None:
        """Stop what nobody waits for."""
        if self._indexing is not None:
            self._indexing.cancel()
            await asyncio.wait((self._indexing,))

    async def _index(self, sources: Sources | Callable[[], Awaitable[Sources]]) -> None:
        with suppress(WinnowError):  # the next call says it
            found = sources if isinstance(sources, Sources) else await sources()

            def prepare() -> Work[Workspace]:
                assistant = self._engine.assistant()
                return lambda cancellation: assistant.index(found, cancellation=cancellation)

            await self._engine.queue.background(prepare)

    async def _run(
        self, work: Callable[[Assistant, Cancellation], T], reports: Reports, *, needs_target: bool = False
    ) -> T:
        return await self._engine.question(work, Asker(self), reports.moved, needs_target=needs_target)


def code_budget(settings: Budget, tokens: int, *, fill: bool = False) -> Budget:
    """The budget of code for a result of at most `tokens`: as many as the question needs, or all of them."""
    return replace(
        settings,
        keep_tokens=int(_CODE_SHARE * tokens) if fill else None,
        keep_ratio=None,
        patience_s=_UNLIMITED_S,
        most_tokens=int(_CODE_SHARE * tokens),
        first_look_tokens=min(settings.first_look_tokens, _FIRST_LOOK_TOKENS),
    )


def _paths(sources: Sources, written: Iterable[str]) -> tuple[str, ...]:
    """The paths that an agent names, but those to leave out alone if one is the workspace. Raises PositionError."""
    left_out, wanted = list[str](), list[str]()
    for one in written:
        (left_out if one.startswith("!") else wanted).append(workspace_place(sources.folders, one.removeprefix("!"))[0])
    return (*(wanted if "" not in wanted else ()), *(f"!{path}" for path in left_out))


def lines_of_file(workspace: Workspace, path: str, first: int | None, last: int | None) -> Cursor:
    """Lines of a file: all, one, or a range, which may be turned round or end past the end. Raises PositionError."""
    path = meant(workspace, path)
    if any(file.path.startswith(f"{path}/" if path else "") for file in workspace.files):
        raise PositionError(f"{path or 'this'} is a folder: name a file")
    file = workspace.file(path)
    start = first if first is not None else 1
    file.check_line(start)
    end = last if last is not None else start if first is not None else file.line_count
    end = file.line_count if end < 0 else min(end, file.line_count)
    return Cursor(path, min(start, end) or start, max(start, end))


def meant(workspace: Workspace, path: str) -> str:
    """The path, or that of the only file or folder whose path ends with it."""
    found = workspace.ending_with(path) if path else []
    return found[0] if len(found) == 1 else path


def _on_known_paths(
    ask: Callable[[Question], T], question: Question, assistant: Assistant, sources: Sources, cancellation: Cancellation
) -> tuple[T, tuple[str, ...]]:
    """The result without paths that do not exist, and a notice about these: small models make them up."""
    try:
        return ask(question), ()
    except PositionError:
        paths, notices = known_paths(assistant.read(sources, cancellation), question.paths)
        return ask(replace(question, paths=paths)), notices


def known_paths(workspace: Workspace, paths: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paths that are of the workspace, and a notice about the others."""
    known, missing = [], []
    for path in paths:
        try:
            files_in(workspace, [path])
            known.append(path)
        except PositionError:
            missing.append(path)
    where = "looked in the others" if known else "looked everywhere"
    return tuple(known), (f"nothing is called {', '.join(missing)}: {where}",) if missing else ()


def _read(assistant: Assistant, sources: Sources, cancellation: Cancellation) -> tuple[Workspace, Callable[[str], int]]:
    workspace = assistant.read(sources, cancellation)
    return workspace, assistant.keys.wait_for(cancellation).drafter.count
