"""`winnow/edit` and the command `winnow.edit`: a change of the code, proposed, shown, and made if the user agrees."""

from __future__ import annotations

import asyncio
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from winnow_engine.assistant import Assistant
from winnow_engine.core import counted
from winnow_engine.editing.proposing import Proposal, propose
from winnow_engine.editing.request import WantedEdit, check_size
from winnow_engine.errors import EditError, TextChangedError
from winnow_engine.index.workspace import Sources
from winnow_lsp.host.queue import Work
from winnow_lsp.server.features.asking import queued, settings_budget
from winnow_lsp.server.render.markdown import rejected_page
from winnow_lsp.server.render.results import EditSupport, proposal_json, workspace_edit
from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.session.editor import Folders, check_within, check_writable, text_now
from winnow_lsp.server.wire.messages import EDIT, EditParams
from winnow_lsp.server.wire.protocol import parsing

_APPLY, _DISCARD = "Apply", "Discard"
_MOST_SHOWN = 60  # lines of a difference in a message


def register(server: WinnowServer) -> None:
    """Offer the request."""

    @server.feature(EDIT)
    async def edit_code(params: EditParams) -> dict[str, Any]:
        proposal, folders = await proposed(server, params)
        edit = await _workspace_edit(server, proposal, folders, params.text_document.uri)
        return {**proposal_json(proposal, folders.location), "edit": edit}


async def change(server: WinnowServer, params: EditParams) -> dict[str, Any]:
    """Propose a change, show it to the user, and have the client make it; `applied` says whether it did."""
    uri = params.text_document.uri
    server.editor.folders.path(uri)  # PositionError, whatever the client can do
    support = EditSupport.of(server.client_capabilities)
    if not support.applies:
        raise EditError("this editor takes no edits from a server: use the request winnow/edit")
    proposal, folders = await proposed(server, params)
    await _workspace_edit(server, proposal, folders, uri)  # what is wrong with it shows before the user is asked
    result = proposal_json(proposal, folders.location)
    if "rejected" in result:
        await server.pages.show("Rejected change", rejected_page(result))
        return {**result, "applied": False}
    agreed = await _agreed(server, proposal)
    return {**result, "applied": agreed and await _applied(server, proposal, folders, uri)}


async def proposed(server: WinnowServer, params: EditParams) -> tuple[Proposal, Folders]:
    """Queue a change, and return what the target proposes with the folders that its path is in."""
    async with queued(server, params.work_done_token, supersedes=False) as request:
        wanted, bar = await _wanted(server, params), request.bar

        def make(assistant: Assistant, sources: Sources) -> Work[Proposal]:
            budget, sampling = settings_budget(server), server.editor.settings.sampling
            return lambda cancellation: propose(
                assistant, sources, wanted, budget, sampling, bar.report, cancellation, bar.kept
            )

        return await request.run(make, lambda proposal: proposal.selection), request.folders


async def _wanted(server: WinnowServer, params: EditParams) -> WantedEdit:
    """The request to the engine, refused before the long part if nothing can come of it.

    Raises PositionError outside the workspace, ReadOnlyError, TextChangedError, NotApplicableError for a small target.
    """
    uri = params.text_document.uri
    with parsing():
        cursor = server.editor.folders.cursor(uri, params.range)
        wanted = WantedEdit(params.change, cursor, params.problems, params.attempt)
    text = await text_now(server.editor, uri)
    if params.digest is not None and (text is None or text.digest != params.digest):
        raise _changed(cursor.path)
    check_writable(uri)
    await asyncio.to_thread(check_size, server.editor.settings.models)
    return wanted


async def _workspace_edit(server: WinnowServer, proposal: Proposal, folders: Folders, uri: str) -> types.WorkspaceEdit:
    """The edit for the client, with the URI that it sent.

    Raises TextChangedError if the text is not what the target saw, ReadOnlyError, NotApplicableError behind a link.
    """
    edit = proposal.edit
    text = await text_now(server.editor, uri)
    if text is None or edit.before != text.data:
        raise _changed(edit.path)
    check_writable(uri)
    check_within(uri, folders.roots)
    support = EditSupport.of(server.client_capabilities)
    return workspace_edit(edit, uri, text.version, support, server.workspace.position_codec)


def _changed(path: str) -> TextChangedError:
    return TextChangedError(f"{path} has changed since this was asked for; nothing else was changed: ask again")


async def _agreed(server: WinnowServer, proposal: Proposal) -> bool:
    """Show the user the difference, and ask."""
    lines = proposal.edit.diff.split("\n")[2:]
    more = [f"… {counted(len(lines) - _MOST_SHOWN, 'more line')}"] if len(lines) > _MOST_SHOWN else []
    shown = "\n".join([*lines[:_MOST_SHOWN], *more])
    actions = [types.MessageActionItem(_APPLY), types.MessageActionItem(_DISCARD)]
    message = f"{proposal.title} in {proposal.edit.path}?\n{shown}"
    asked = types.ShowMessageRequestParams(types.MessageType.Info, message, actions)
    try:
        chosen = await server.window_show_message_request_async(asked)
    except JsonRpcException as error:
        raise EditError(f"the editor could not ask whether to change {proposal.edit.path}: {error}") from error
    return chosen is not None and chosen.title == _APPLY


async def _applied(server: WinnowServer, proposal: Proposal, folders: Folders, uri: str) -> bool:
    """Have the client make the edit. EditError if it says why it did not; a user who declines says nothing."""
    edit = await _workspace_edit(server, proposal, folders, uri)
    params = types.ApplyWorkspaceEditParams(edit, f"Winnow: {proposal.title}")
    try:
        done = await server.workspace_apply_edit_async(params)
    except JsonRpcException as error:
        raise EditError(f"the editor did not change {proposal.edit.path}: {error}") from error
    if not done.applied and done.failure_reason:
        raise EditError(f"the editor did not change {proposal.edit.path}: {done.failure_reason}")
    return done.applied
