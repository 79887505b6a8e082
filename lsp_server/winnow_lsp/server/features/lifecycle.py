"""Follows a client from `initialize` to `shutdown`: its settings, its folders, and the changes in them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from winnow_lsp.host.roots import local_path
from winnow_lsp.host.settings import SECTION, Settings
from winnow_lsp.server.server import WinnowServer
from winnow_lsp.server.session.editor import Document

_ANSWER_TIMEOUT_S = 10


def register(server: WinnowServer) -> None:
    """Add the handlers of the client's notifications."""

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.editor.initial_options = params.initialization_options
        server.editor.settings, _ = Settings.read(server.editor.initial_options)
        _change_folders(server, _folders(params))
        workspace = server.workspace
        workspace._create_text_document = partial(Document, position_codec=workspace.position_codec)  # type: ignore[method-assign]

    @server.feature(types.INITIALIZED)
    async def initialized(_params: types.InitializedParams) -> None:
        await _configure(server, None)
        server.editor.configured.set()
        server.indexer.start()
        server.watcher.start()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def configuration(params: types.DidChangeConfigurationParams) -> None:
        await _configure(server, params.settings)
        server.indexer.start()
        server.watcher.start()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        _change_folders(server, params.event.added, [folder.uri for folder in params.event.removed])
        server.watcher.start()
        server.indexer.start()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def files(params: types.DidChangeWatchedFilesParams) -> None:
        await server.watcher.changed(change.uri for change in params.changes)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def changed(params: types.DidChangeTextDocumentParams | types.DidCloseTextDocumentParams) -> None:
        await server.watcher.changed([params.text_document.uri])

    @server.feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def cancel(params: types.WorkDoneProgressCancelParams) -> None:
        server.bars.cancel(params.token)


def _folders(params: types.InitializeParams) -> list[types.WorkspaceFolder]:
    if params.workspace_folders:
        return list(params.workspace_folders)
    uri = params.root_uri or (Path(params.root_path).absolute().as_uri() if params.root_path else None)
    return [types.WorkspaceFolder(uri, "")] if uri else []


def _change_folders(server: WinnowServer, added: Sequence[types.WorkspaceFolder], removed: Iterable[str] = ()) -> None:
    server.editor.folders = server.editor.folders.changed(added, removed)
    if elsewhere := [folder.uri for folder in added if local_path(folder.uri) is None]:
        server.tell(types.MessageType.Warning, f"Winnow: left out {', '.join(elsewhere)}: not a folder of this machine")


async def _configure(server: WinnowServer, pushed: object) -> None:
    workspace = server.client_capabilities.workspace
    if workspace and workspace.configuration:
        pushed = await _pulled(server)
    settings, problems = Settings.read(server.editor.initial_options, pushed)
    if new := [problem for problem in problems if problem not in server.editor.told]:
        server.tell(types.MessageType.Warning, f"Winnow: {'; '.join(new)}")
    server.editor.told = problems
    lenses_changed = settings.code_lens != server.editor.settings.code_lens
    await server.use(settings)
    lens = workspace.code_lens if workspace else None
    if lenses_changed and lens and lens.refresh_support:
        server.workspace_code_lens_refresh(None)


async def _pulled(server: WinnowServer) -> object:
    items = types.ConfigurationParams([types.ConfigurationItem(section=SECTION)])
    try:
        answers = await asyncio.wait_for(server.workspace_configuration_async(items), _ANSWER_TIMEOUT_S)
    except (TimeoutError, JsonRpcException) as error:
        reason = f": {error}" if str(error) else ""
        server.tell(types.MessageType.Warning, f"Winnow: the editor did not send its settings{reason}")
        return None
    return answers[0] if answers else None
