"""Commands that review a change and propose a commit message, for source-control views and plain clients."""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from winnow_engine.changes.reading import read_changes
from winnow_engine.core import Cancellation
from winnow_engine.errors import NothingChangedError
from winnow_engine.git.repository import open_repository
from winnow_engine.index.workspace import Sources
from winnow_engine.review.corrections import MOST_QUESTIONS, repetitions
from winnow_engine.review.findings import QUESTION, Finding
from winnow_engine.review.message import Manner, manner_of, message_of, message_question
from winnow_engine.review.review import reviewed, unchanged
from winnow_engine.targets.answer import Answer
from winnow_lsp.server.features.asking import answered_in
from winnow_lsp.server.features.commands import bound, with_token
from winnow_lsp.server.render.markdown import review_page
from winnow_lsp.server.render.results import review_json
from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.session.editor import Folders
from winnow_lsp.server.wire.messages import AskParams
from winnow_lsp.server.wire.protocol import parsing

REVIEW, COMMIT_MESSAGE = "winnow.review", "winnow.commitMessage"


def register(server: WinnowServer) -> None:
    """Offer the commands."""
    server.command(REVIEW)(bound(server, _review))
    server.command(COMMIT_MESSAGE)(bound(server, _commit_message))


async def _review(server: WinnowServer, params: types.ExecuteCommandParams) -> dict[str, Any]:
    asked = _changes(params, "working")
    try:
        answered, folders, sources = await _answered(server, params, QUESTION, asked)
        workspace = answered.selection.workspace
        changes = await asyncio.to_thread(read_changes, sources, workspace, asked, Cancellation())
        corrected: list[Finding] = []
        for one in repetitions(changes, workspace)[:MOST_QUESTIONS]:
            repeated, *_ = await _answered(server, params, one.question, asked)
            corrected += one.findings(repeated.text)
    except JsonRpcException as error:
        made, folders = unchanged(_unchanged(error)), server.editor.folders
    else:
        made = await asyncio.to_thread(reviewed, answered.text, changes, workspace, corrected)
    result = review_json(made, folders.location)
    page = review_page(result)
    if _argument(params).get("show", True):
        await server.pages.show("Review", page)
    return {"question": "Review", "answer": page, **result}


async def _commit_message(server: WinnowServer, params: types.ExecuteCommandParams) -> dict[str, Any]:
    asked = _changes(params, "staged")
    await server.editor.configured.wait()
    manner = await asyncio.to_thread(_manner, server.editor.sources(server.editor.folders))
    try:
        answered, *_ = await _answered(server, params, message_question(manner), asked)
    except JsonRpcException as error:
        server.tell(types.MessageType.Info, f"Winnow: no message: {_unchanged(error)}")
        return {"message": ""}
    return {"message": message_of(answered.text, manner)}


def _unchanged(error: JsonRpcException) -> str:
    """The words for a change without files. Raises every other error."""
    if isinstance(error.__cause__, NothingChangedError):
        return str(error.__cause__)
    raise error


async def _answered(
    server: WinnowServer, params: types.ExecuteCommandParams, question: str, changes: str
) -> tuple[Answer, Folders, Sources]:
    """The model's answer, in a conversation of its own, which is forgotten."""
    asked = await with_token(server, params, AskParams(question=question, changes=changes))
    conversation = str(uuid.uuid4())
    try:
        answered, _, folders = await answered_in(server, asked, conversation)
    finally:
        server.conversations.pop(conversation, None)
    return answered, folders, server.editor.sources(folders)


def _manner(sources: Sources) -> Manner:
    return manner_of(open_repository(sources.folders[0].root))


def _changes(params: types.ExecuteCommandParams, usual: str) -> str:
    """The change to review, from the command's only argument, which may be left out."""
    with parsing():
        found = _argument(params).get("changes", usual)
        if not isinstance(found, str):
            raise ValueError(f"{params.command} takes one argument, an object in which `changes` is a string")
        return found


def _argument(params: types.ExecuteCommandParams) -> dict[str, Any]:
    given = (params.arguments or [{}])[0]
    return given if isinstance(given, dict) else {"changes": None}
