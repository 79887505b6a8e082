"""Notices files that change outside of the editor: through the client if it can watch, else through the system.

Never through both, which would count every change twice. Either way this only makes the index follow sooner: each
question finds out by itself what has changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from winnow_engine.config import FileRules
from winnow_engine.index.name_rules import reason_against_path
from winnow_lsp.server.session import folder_watch
from winnow_lsp.server.session.editor import EditorState

Watch = Callable[[Iterable[Path], FileRules, Callable[[str], None]], AsyncIterator[set[Path]]]
"""Yields what changes below some folders, until it is closed. The last argument is told what the user should know."""

_log = logging.getLogger(__name__)


class FileWatcher:
    """Watches one client's folders. Belongs to the event loop."""

    def __init__(
        self,
        editor: EditorState,
        client: LanguageServer,
        changed: Callable[[Iterable[str]], None],
        watch: Watch = folder_watch.changes,
    ) -> None:
        """`changed` is called with the URIs of files that may belong to the workspace."""
        self._editor, self._client, self._changed, self._watch = editor, client, changed, watch
        self._registered = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Watch the folders as they are now; call it again when they, or the rules, change."""
        if not self._by_client:
            self.close()
            self._task = asyncio.create_task(self._follow(self._editor.folders.roots, self._editor.settings.files))
        elif not self._registered:  # one pattern stands for all folders, those to come too
            self._registered = True
            self._register()

    def changed(self, uris: Iterable[str]) -> None:
        """Pass on those of the changed files that may belong to the workspace."""
        self._changed(
            uri for uri in uris if (path := self._editor.folders.find(uri)) and reason_against_path(path) is None
        )

    def close(self) -> None:
        """Watch no longer."""
        if self._task is not None:
            self._task.cancel()

    @property
    def _by_client(self) -> bool:
        workspace = self._client.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace else None
        return bool(watched and watched.dynamic_registration)

    def _register(self) -> None:
        watcher = types.FileSystemWatcher(glob_pattern="**/*")
        options = types.DidChangeWatchedFilesRegistrationOptions([watcher])
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        registration = types.Registration("winnow-files", method, options)
        self._client.client_register_capability(types.RegistrationParams([registration]))

    async def _follow(self, roots: Iterable[Path], rules: FileRules) -> None:
        try:
            async for paths in self._watch(roots, rules, self._notice):
                self.changed(path.as_uri() for path in paths)
        except (OSError, RuntimeError, ValueError) as error:  # the limit of watches; a path that is not UTF-8
            self._notice(f"changes on disk are noticed at the next question only: {error}")

    def _notice(self, message: str) -> None:
        _log.warning("%s", message)
        self._client.window_log_message(types.LogMessageParams(types.MessageType.Warning, message))
