"""Commands that review a change and propose a commit message, for source-control views and plain clients."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any

from lsprotocol import types

from winnow_engine.changes.reading import folders_in, read_changes
from winnow_engine.core import Cancellation
from winnow_engine.errors import NothingChangedError
from winnow_engine.git.repository import open_repository
from winnow_engine.index.workspace import Sources
from winnow_engine.review.corrections import Repetition, corrections, repetitions
from winnow_engine.review.findings import QUESTION
from winnow_engine.review.message import manner_of, message_of, message_question
from winnow_engine.review.review import reviewed, unchanged
from winnow_engine.targets.answer import Answer
from winnow_lsp.host.reply import check_answered
from winnow_lsp.host.roots import file_path
from winnow_lsp.server.features.asking import answered_in
from winnow_lsp.server.features.commands import with_token
from winnow_lsp.server.render.markdown import review_page
from winnow_lsp.server.render.results import review_json
from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.session.editor import Folders
from winnow_lsp.server.wire.messages import AskParams
from winnow_lsp.server.wire.protocol import parsing

REVIEW, COMMIT_MESSAGE = "winnow.review", "winnow.commitMessage"


def register(server: WinnowServer) -> None:
    """Offer the commands."""
    server.command(REVIEW)(_review)
    server.command(COMMIT_MESSAGE)(_commit_message)


async def _review(server: WinnowServer, params: types.ExecuteCommandParams) -> dict[str, Any]:
    asked = _text(params, "changes", "working")
    try:
        first = await with_token(server, params, AskParams(question=QUESTION, changes=asked))
        answered, folders, sources = await _answered(server, first)
    except NothingChangedError as error:
        made, folders = unchanged(str(error)), server.editor.folders
    else:
        check_answered(answered.text, answered.finish)
        workspace = answered.selection.workspace
        changes = await asyncio.to_thread(read_changes, sources, workspace, asked, Cancellation())
        repeated = await asyncio.to_thread(repetitions, changes, workspace)
        answers = await _repeated(server, repeated, asked) if repeated else []
        corrected = await asyncio.to_thread(corrections, repeated, answers)
        made = await asyncio.to_thread(reviewed, answered.text, changes, workspace, corrected)
    page = review_page(made, folders.location)
    if _argument(params).get("show", True):
        await server.pages.show("Review", page)
    return {"question": "Review", "answer": page, **review_json(made, folders.location)}


async def _repeated(server: WinnowServer, repeated: Sequence[Repetition], asked: str) -> list[str]:
    """The answers to all, or to those that were asked before the change was committed."""
    found: list[str] = []
    async with server.bars.show(await server.bars.new_token()) as bar:
        for number, one in enumerate(repeated, 1):
            bar.say(f"repeating changed code, {number} of {len(repeated)}", 100 * number // len(repeated))
            try:
                found.append((await _answered(server, AskParams(question=one.question, changes=asked)))[0].text)
            except NothingChangedError:
                break
    return found


async def _commit_message(server: WinnowServer, params: types.ExecuteCommandParams) -> dict[str, Any]:
    asked, repository = _text(params, "changes", "staged"), _text(params, "repository", "")
    await server.editor.configured.wait()
    folders = server.editor.sources(server.editor.folders).folders
    if repository:
        folders = await asyncio.to_thread(folders_in, folders, file_path(repository))
    manner = await asyncio.to_thread(lambda: manner_of(open_repository(folders[0].root)))
    try:
        question = AskParams(question=message_question(manner), changes=asked, folders=folders)
        answered, *_ = await _answered(server, await with_token(server, params, question))
    except NothingChangedError as error:
        server.tell(types.MessageType.Info, f"Winnow: no message: {error}")
        return {"message": ""}
    check_answered(message := message_of(answered.text, manner), answered.finish)
    return {"message": message}


async def _answered(server: WinnowServer, asked: AskParams) -> tuple[Answer, Folders, Sources]:
    """The model's answer, in a conversation of its own, which is forgotten."""
    conversation = str(uuid.uuid4())
    try:
        answered, _, folders = await answered_in(server, asked, conversation)
    finally:
        server.conversations.pop(conversation, None)
    return answered, folders, server.editor.sources(folders)


def _text(params: types.ExecuteCommandParams, name: str, usual: str) -> str:
    """A string in the command's only argument, which may be left out."""
    with parsing():
        found = _argument(params).get(name, usual)
        if not isinstance(found, str):
            raise ValueError(f"{params.command} takes one argument, an object in which `{name}` is a string")
        return found


def _argument(params: types.ExecuteCommandParams) -> dict[str, Any]:
    given = (params.arguments or [{}])[0]
    return given if isinstance(given, dict) else {"changes": None}
