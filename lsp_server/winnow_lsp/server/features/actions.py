"""Code actions and lenses, which explain or change the code at a place, or explain or fix a problem there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lsprotocol import types

from winnow_engine.core import FUNCTIONS
from winnow_engine.editing.request import EditKind, check_size
from winnow_engine.errors import NotApplicableError
from winnow_engine.git.repository import top_above
from winnow_engine.index.languages import for_file
from winnow_lsp.host.roots import file_path
from winnow_lsp.server.features.commands import EDIT, EXPLAIN
from winnow_lsp.server.render.results import EditSupport
from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.session.editor import Text, text_now, units_of
from winnow_lsp.server.wire.messages import Topic

KIND, PROBLEM_KIND, CHANGE_KIND = "winnow.explain", "quickfix.winnow", "refactor.rewrite.winnow"
_TITLES = {
    Topic.CODE: "Explain",
    Topic.USAGE: "How is this used?",
    Topic.IMPACT: "What would break if this changed?",
    Topic.WHY: "Why is this so?",
}
_LENSES = {Topic.CODE: "Explain", Topic.USAGE: "Uses"}
_LONGEST_TITLE = 60


def register(server: WinnowServer) -> None:
    """Offer code actions, and code lenses where the setting asks for them."""
    options = types.CodeActionOptions(code_action_kinds=[KIND, PROBLEM_KIND, CHANGE_KIND])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, options)
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        text = None if server.editor.folders.find(uri) is None else await text_now(server.editor, uri)
        if text is None or not text.data:  # empty files are not in the index
            return []
        dated = top_above(file_path(uri).parent)  # a file seems to have a history
        topics = {topic: title for topic, title in _TITLES.items() if topic is not Topic.WHY or dated}
        actions = [*_actions(params, topics), *await _changes(server, params, text)]
        return [action for action in actions if _is_wanted(action, params.context.only)]

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        uri = params.text_document.uri
        if not server.editor.settings.code_lens or server.editor.folders.find(uri) is None:
            return []
        units = [u for u in await units_of(server.editor, uri) if u.kind in FUNCTIONS]
        return [_lens(params.text_document, unit.start_line - 1, topic) for unit in units for topic in _LENSES]


def _actions(params: types.CodeActionParams, topics: Mapping[Topic, str]) -> Iterator[types.CodeAction]:
    for problem in params.context.diagnostics:
        about = _argument(params.text_document, problem.range, Topic.DIAGNOSTIC)
        about["diagnostics"] = [{"message": problem.message}]
        yield _action(f"Explain this problem: {problem.message}", PROBLEM_KIND, EXPLAIN, about, problem)
    for topic, title in topics.items():
        yield _action(title, KIND, EXPLAIN, _argument(params.text_document, params.range, topic))


async def _changes(server: WinnowServer, params: types.CodeActionParams, text: Text) -> list[types.CodeAction]:
    """Changes of the code as it is now, for clients that take edits and targets that are large enough."""
    if not EditSupport.of(server.client_capabilities).applies:
        return []
    await server.editor.configured.wait()  # until then the target is the default one
    try:
        await asyncio.to_thread(check_size, server.editor.settings.models)
    except NotApplicableError:
        return []
    return list(_change_actions(params, text))


def _change_actions(params: types.CodeActionParams, text: Text) -> Iterator[types.CodeAction]:
    def argument(at: types.Range, change: EditKind, *problems: str) -> dict[str, Any]:
        listed = {"diagnostics": [{"message": problem} for problem in problems]} if problems else {}
        place = {"textDocument": {"uri": params.text_document.uri}, "range": at}
        return {**place, "change": change.value, "digest": text.digest, **listed}

    for problem in params.context.diagnostics:
        fix = argument(problem.range, EditKind.FIX, problem.message)
        yield _action(f"Fix this problem: {problem.message}", PROBLEM_KIND, EDIT, fix, problem)
    language = for_file(params.text_document.uri, text.data)
    if language and language.documentation:
        yield _action("Document this", CHANGE_KIND, EDIT, argument(params.range, EditKind.DOCUMENT))


def _action(
    title: str, kind: str, command: str, argument: dict[str, Any], problem: types.Diagnostic | None = None
) -> types.CodeAction:
    line, problems = title.partition("\n")[0], None if problem is None else [problem]
    title = line if len(line) <= _LONGEST_TITLE else f"{line[: _LONGEST_TITLE - 1]}…"
    return types.CodeAction(title, kind, problems, command=types.Command(title, command, arguments=[argument]))


def _argument(document: types.TextDocumentIdentifier, at: types.Range, topic: Topic) -> dict[str, Any]:
    """The argument of `winnow.explain`."""
    return {"textDocument": {"uri": document.uri}, "range": at, "about": topic.value}


def _is_wanted(action: types.CodeAction, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    kind = str(action.kind)
    return not only or any(not w or kind == w or kind.startswith(f"{w}.") for w in map(_value, only))


def _value(kind: types.CodeActionKind | str) -> str:
    return kind.value if isinstance(kind, types.CodeActionKind) else kind


def _lens(document: types.TextDocumentIdentifier, line: int, topic: Topic) -> types.CodeLens:
    at = types.Range(types.Position(line, 0), types.Position(line, 0))
    return types.CodeLens(at, types.Command(_LENSES[topic], EXPLAIN, arguments=[_argument(document, at, topic)]))
