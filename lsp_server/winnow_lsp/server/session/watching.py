"""Notices files that change outside of the editor: through the client if it can watch, else through the system.

Never through both, which would count every change twice. Either way this only makes the index follow sooner: each
question finds out by itself what has changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from pathlib import Path, PurePosixPath

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from watchdog.events import (
    EVENT_TYPE_CREATED,
    EVENT_TYPE_DELETED,
    EVENT_TYPE_MODIFIED,
    EVENT_TYPE_MOVED,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver

from winnow_engine.index.name_rules import reason_against
from winnow_lsp.server.session.editor import EditorState

Changed = Callable[[Iterable[str]], None]

_CHANGES = {EVENT_TYPE_CREATED, EVENT_TYPE_DELETED, EVENT_TYPE_MODIFIED, EVENT_TYPE_MOVED}
_log = logging.getLogger(__name__)


class FileWatcher:
    """Watches one client's folders. Belongs to the event loop."""

    def __init__(self, editor: EditorState, client: LanguageServer, changed: Changed) -> None:
        """`changed` is called with the URIs of files that may belong to the workspace."""
        self._editor, self._client, self._changed = editor, client, changed
        self._loop = asyncio.get_running_loop()
        self._observer: BaseObserver | None = None
        self._registered = self._closed = False
        self._starting = asyncio.Lock()  # the folders may change while they are being scheduled

    async def start(self) -> None:
        """Watch the folders as they are now; call it again when they change."""
        if not self._by_client:
            async with self._starting:
                observer = await asyncio.to_thread(self._observe, self._editor.folders.roots)
                self._stop()
                self._observer = observer
                if self._closed:  # meanwhile
                    self._stop()
        elif not self._registered:  # one pattern stands for all folders, those to come too
            self._registered = True
            self._register()

    def changed(self, uris: Iterable[str]) -> None:
        """Pass on those of the changed files that may belong to the workspace."""
        self._changed(uri for uri in uris if (path := self._editor.folders.find(uri)) and _may_count(path))

    def close(self) -> None:
        """Watch no longer, and never again."""
        self._closed = True
        self._stop()

    def _stop(self) -> None:
        if self._observer is not None:
            self._observer.stop()
            self._observer = None

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

    def _observe(self, roots: Iterable[Path]) -> BaseObserver:
        observer = Observer()
        observer.start()  # before the folders are scheduled, so that each fails for itself
        handler = _Handler(self._loop, self.changed)
        for root in roots:
            try:
                observer.schedule(handler, str(root), recursive=True)
            except OSError as error:  # the system's limit of watches, for example
                _log.warning("changes in %s are noticed at the next question only: %s", root, error)
        return observer


class _Handler(FileSystemEventHandler):
    """Brings changes from watchdog's thread to the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, changed: Changed) -> None:
        self._loop, self._changed = loop, changed

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type in _CHANGES and not event.is_directory:
            paths = [str(path) for path in (event.src_path, event.dest_path) if path]
            uris = [Path(path).as_uri() for path in paths]
            self._loop.call_soon_threadsafe(self._changed, uris)


def _may_count(path: str) -> bool:
    *directories, name = PurePosixPath(path).parts
    left_out = (reason_against(part, True) for part in directories)
    return not any(left_out) and reason_against(name, False) is None
