"""The tools' requests to a repository: questions in the engine's queue, with typed results."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

from winnow_engine.assistant import Assistant
from winnow_engine.config import Config
from winnow_engine.core import Budget, Cancellation, Citation, Kept, Span
from winnow_engine.errors import PositionError, WinnowError
from winnow_engine.index.contents import ListedDefinition, ListedFile, ListedFolder, contents
from winnow_engine.index.relations import Relation, relations
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.question import Cursor, Question
from winnow_engine.selection.ranking import Selection
from winnow_engine.targets.answer import Answer
from winnow_lsp.host.engines import Engine
from winnow_lsp.host.queue import Asker, Work
from winnow_lsp.mcp.progress import Reports
from winnow_lsp.mcp.results import (
    Ask,
    CodePlace,
    CodeSpan,
    Explained,
    ExplainPlace,
    FindCode,
    FoundCode,
    ModelAnswer,
    Outlined,
    OutlineEntry,
    OutlinePath,
    Related,
    fitted,
)

T = TypeVar("T")
_CODE_SHARE = 0.8  # of a result's tokens; the rest names places and quotes
_FIRST_LOOK_TOKENS = 2000  # agents ask often, and the index has more each time
_NAMES_A_FILE = 12  # in the outline of a folder
_UNLIMITED_S = 1e9  # an agent's model, not the target here, reads what is found


class AgentRepository:
    """One client's repository, whose folders may change from call to call. Belongs to the event loop."""

    def __init__(self, engine: Engine, config: Config) -> None:
        self._engine, self._config = engine, config
        self._indexing: asyncio.Task[None] | None = None

    async def find(self, sources: Sources, asked: FindCode, reports: Reports) -> FoundCode:
        """The code that matters to a question, as much as it needs and the budget allows."""
        question = Question(asked.question, paths=tuple(asked.paths))
        budget = code_budget(self._config.budget, asked.budget)

        def work(assistant: Assistant, cancellation: Cancellation) -> tuple[FoundCode, bool]:
            def select(question: Question) -> Selection:
                return assistant.select(sources, question, budget, reports.progress, cancellation)

            selection, notices = _on_known_paths(select, question, assistant, sources, cancellation)
            selection = replace(selection, notices=(*notices, *selection.notices))
            found = found_code(selection, asked.budget, assistant.keys.wait_for(cancellation).drafter.count)
            return found, selection.stats.complete

        found, final = await self._run(work, reports)
        if not final:
            self.index(sources)
        return found

    async def explain(self, sources: Sources, asked: ExplainPlace, reports: Reports) -> Explained:
        """The definitions that a place uses, and its users."""
        cursor = Cursor(asked.path.removeprefix("./"), asked.start_line, asked.end_line or asked.start_line)

        def work(assistant: Assistant, cancellation: Cancellation) -> Explained:
            workspace, count = _read(assistant, sources, cancellation)
            return _explained(workspace, cursor, asked.budget, count)

        return await self._run(work, reports)

    async def outline(self, sources: Sources, asked: OutlinePath, reports: Reports) -> Outlined:
        """The contents of a folder or file."""

        def work(assistant: Assistant, cancellation: Cancellation) -> Outlined:
            workspace, count = _read(assistant, sources, cancellation)
            entries = _entries(list(contents(workspace, asked.path)), asked.path)

            def made(some: Sequence[OutlineEntry]) -> Outlined:
                return Outlined(entries=list(some), left_out=len(entries) - len(some))

            return fitted(made, entries, asked.budget, count)

        return await self._run(work, reports)

    async def answer(self, sources: Sources, asked: Ask, reports: Reports) -> ModelAnswer:
        """The target's answer."""
        question, config = Question(asked.question, paths=tuple(asked.paths)), self._config

        def work(assistant: Assistant, cancellation: Cancellation) -> ModelAnswer:
            def ask(question: Question) -> Answer:
                return assistant.ask(
                    sources,
                    question,
                    config.budget,
                    config.sampling,
                    reports.text,
                    reports.progress,
                    cancellation,
                    reports.kept,
                )

            answer, notices = _on_known_paths(ask, question, assistant, sources, cancellation)
            kept = Kept.of(answer.spans, None).spans
            return ModelAnswer(
                answer=answer.text,
                complete=answer.finish != "length",
                citations=[_place(citation) for citation in answer.citations],
                rests_on=[_place(span) for span in kept],
                notices=[*notices, *answer.notices],
            )

        return await self._run(work, reports)

    def index(self, sources: Sources | Awaitable[Sources]) -> None:
        """Bring the index up to date while nobody asks, unless that is under way."""
        if self._indexing is None or self._indexing.done():
            self._indexing = asyncio.create_task(self._index(sources))

    async def leave(self) -> None:
        """Stop what nobody waits for."""
        if self._indexing is not None:
            self._indexing.cancel()
            await asyncio.wait((self._indexing,))

    async def _index(self, sources: Sources | Awaitable[Sources]) -> None:
        with suppress(WinnowError):  # the next call says it
            found = sources if isinstance(sources, Sources) else await sources

            def prepare() -> Work[Workspace]:
                assistant = self._engine.assistant()
                return lambda cancellation: assistant.index(found, cancellation=cancellation)

            await self._engine.queue.background(prepare)

    async def _run(self, work: Callable[[Assistant, Cancellation], T], reports: Reports) -> T:
        def prepare() -> Work[T]:
            assistant = self._engine.assistant()
            return lambda cancellation: work(assistant, cancellation)

        return await self._engine.queue.question(prepare, reports.moved, Asker(self))


def code_budget(settings: Budget, tokens: int) -> Budget:
    """The budget of code for a result of at most `tokens`."""
    return replace(
        settings,
        keep_tokens=None,
        keep_ratio=None,
        patience_s=_UNLIMITED_S,
        most_tokens=int(_CODE_SHARE * tokens),
        first_look_tokens=min(settings.first_look_tokens, _FIRST_LOOK_TOKENS),
    )


def _on_known_paths(
    ask: Callable[[Question], T],
    question: Question,
    assistant: Assistant,
    sources: Sources,
    cancellation: Cancellation,
) -> tuple[T, tuple[str, ...]]:
    """The result without paths that do not exist, and a notice about these: small models make them up."""
    try:
        return ask(question), ()
    except PositionError:
        paths, notices = known_paths(assistant.read(sources, cancellation), question.paths)
        return ask(replace(question, paths=paths)), notices


def known_paths(workspace: Workspace, paths: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paths that are of the workspace, and a notice about the others."""
    known = []
    for path in paths:
        with suppress(PositionError):
            workspace.units_in([path])
            known.append(path)
    missing = [path for path in paths if path not in known]
    where = "looked in the others" if known else "looked everywhere"
    return tuple(known), (f"nothing is called {', '.join(missing)}: {where}",) if missing else ()


def _read(assistant: Assistant, sources: Sources, cancellation: Cancellation) -> tuple[Workspace, Callable[[str], int]]:
    """The workspace, and what counts tokens."""
    workspace = assistant.read(sources, cancellation)
    return workspace, assistant.keys.wait_for(cancellation).drafter.count


def found_code(selection: Selection, budget: int, count: Callable[[str], int]) -> FoundCode:
    """A selection as the result of `find_code`, within a budget of tokens that `count` counts."""
    workspace = selection.workspace
    spans = [_code(workspace, span) for span in Kept.of(selection.spans, None).spans]

    def made(some: Sequence[CodeSpan]) -> FoundCode:
        return FoundCode(spans=list(some), index_complete=selection.stats.complete, notices=list(selection.notices))

    return fitted(made, spans, budget, count)


def _code(workspace: Workspace, span: Span) -> CodeSpan:
    file = workspace.files[workspace.file_number(span.path)]
    return CodeSpan(
        path=span.path,
        start_line=span.start_line,
        end_line=span.end_line,
        name=span.name,
        kind=span.kind.value,
        score=round(span.score, 1),
        text=file.text_of_lines(span.start_line, span.end_line),
    )


def _explained(workspace: Workspace, cursor: Cursor, budget: int, count: Callable[[str], int]) -> Explained:
    found = relations(workspace, cursor)
    # In turns, so that a small budget shows some of both.
    pairs = [("uses", one) for one in found.uses], [("used_by", one) for one in found.used_by]
    rows = sorted((place, side) for side, some in enumerate(pairs) for place in range(len(some)))
    items = [pairs[side][place] for place, side in rows]

    def made(some: Sequence[tuple[str, Relation]]) -> Explained:
        return Explained(
            path=cursor.path,
            start_line=cursor.start_line,
            end_line=cursor.end_line,
            inside=[unit.name or unit.kind.value for unit in found.units],
            uses=[_related(one) for side, one in some if side == "uses"],
            used_by=[_related(one) for side, one in some if side == "used_by"],
            left_out=len(items) - len(some),
        )

    return fitted(made, items, budget, count)


def _related(one: Relation) -> Related:
    return Related(name=one.name, path=one.file.path, line=one.line, inside=one.unit.name, text=one.text[:200])


def _entries(found: Sequence[ListedFolder | ListedFile], path: str) -> list[OutlineEntry]:
    """A row for each folder and file, or for each definition of the file that was asked about."""
    match found:
        case [ListedFile(path=name) as file] if name == path.removeprefix("./"):
            return [_definition(file, one) for one in file.definitions]
    return [_folder(one) if isinstance(one, ListedFolder) else _file(one) for one in found]


def _folder(folder: ListedFolder) -> OutlineEntry:
    return OutlineEntry(path=f"{folder.path}/", kind="folder", files=folder.files)


def _file(file: ListedFile) -> OutlineEntry:
    names = [one.name for one in file.definitions[:_NAMES_A_FILE]]
    return OutlineEntry(path=file.path, kind="file", lines=file.lines, defines=names)


def _definition(file: ListedFile, one: ListedDefinition) -> OutlineEntry:
    return OutlineEntry(
        path=file.path, kind=one.kind.value, name=one.name, start_line=one.start_line, end_line=one.end_line
    )


def _place(place: Citation | Span) -> CodePlace:
    return CodePlace(path=place.path, start_line=place.start_line, end_line=place.end_line)
