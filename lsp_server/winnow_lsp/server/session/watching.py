"""Notices files that change outside of the editor: through the client if it can watch, else through the system.

Never through both, which would count every change twice. Either way this only makes the index follow sooner: each
question finds out by itself what has changed.

On Linux all programs of a user share a number of watches, and each folder takes one: so only folders that count are
watched there, each by itself; a home only for an `always` index.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Set
from contextlib import aclosing, suppress
from functools import cache, partial
from itertools import accumulate
from pathlib import Path

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from watchfiles import awatch
from watchfiles.main import FileChange

from winnow_engine.config import FileRules
from winnow_engine.core import Folder
from winnow_engine.errors import WorkspaceError
from winnow_engine.index.files import folders, left_out
from winnow_engine.index.ignore import RULE_FILES
from winnow_engine.index.name_rules import reason_against_path
from winnow_engine.platform import watches_single_folders
from winnow_lsp.host.roots import directory_prefix, is_everything, local_path
from winnow_lsp.server.session.editor import EditorState

_DEBOUNCE_MS = 500
_PAUSE_S = 5.0  # before the same folders are asked for again
_POLL_MS = 5000  # where watchfiles polls by itself, as in WSL

Watch = Callable[[Iterable[Path], FileRules], AsyncIterator[set[Path]]]
"""Yields what changes below some folders, until it is closed."""
_log = logging.getLogger(__name__)


async def changes(roots: Iterable[Path], rules: FileRules) -> AsyncIterator[set[Path]]:
    """Files that changed below `roots`, and folders that are gone, in batches. Raises OSError, RuntimeError."""
    now = await asyncio.to_thread(_watchable, roots, rules)
    while watched := now:
        try:
            certain = False  # a folder made while the system was being asked to watch is not reported
            async with aclosing(_asked_to_watch(watched)) as batches:
                async for batch in batches:
                    paths = {Path(path) for _, path in batch}
                    files = {path for path in paths if path not in watched and not path.is_dir()}
                    if files:
                        yield files
                    if certain and paths == files and RULE_FILES.isdisjoint(path.name for path in files):
                        continue
                    certain, now = True, await asyncio.to_thread(_watchable, roots, rules)
                    if now != watched:
                        break
        except FileNotFoundError:  # a folder is gone since it was found
            now = await asyncio.to_thread(_watchable, roots, rules)
            if now == watched:  # it is there again, or only said to be
                await asyncio.sleep(_PAUSE_S)
        if moved := (watched - now) | await asyncio.to_thread(_files_in, now - watched):
            yield moved


def _asked_to_watch(watched: set[Path]) -> AsyncGenerator[set[FileChange], None]:
    """Changes in folders; an empty set every few seconds in which there are none."""
    # Without `ignore_permission_denied`, which would also hide that no watch is left.
    return awatch(
        *watched,
        watch_filter=None,
        debounce=_DEBOUNCE_MS,
        recursive=not watches_single_folders(),
        yield_on_timeout=True,
        poll_delay_ms=_POLL_MS,
    )


def _watchable(roots: Iterable[Path], rules: FileRules) -> set[Path]:
    """Folders to watch: every one that counts, or the roots where the system watches everything below them."""
    found = set[Path]()
    for root in roots:
        try:
            found.update(folders(root, rules) if watches_single_folders() else [root])
        except WorkspaceError as error:
            _log.warning("%s", error)
    return {folder for folder in found if os.access(folder, os.R_OK)}


def _files_in(new: Iterable[Path]) -> set[Path]:
    found = set[Path]()
    for folder in new:
        try:
            found.update(path for path in folder.iterdir() if not path.is_dir())
        except OSError:
            continue
    return found


def _left_out(within: Iterable[Folder], paths: Iterable[str], rules: FileRules) -> set[str]:
    """Those of some workspace paths that rules leave out, and folders above them."""
    found = set[str]()
    for folder in within:
        if files := [file for path in paths if (file := folder.relative(path)) is not None]:
            with suppress(WorkspaceError):
                found.update(map(folder.workspace_path, left_out(folder.root, files, rules)))
    return found


def _counts(path: str, ignored: Set[str]) -> bool:
    """True if neither this file nor a folder above it is ignored; a file with rules may ignore itself."""
    *names, name = path.split("/")
    own = [] if name in RULE_FILES else [name]
    return ignored.isdisjoint(accumulate([*names, *own], "{}/{}".format))


class FileWatcher:
    """Watches one client's folders. Belongs to the event loop."""

    def __init__(
        self,
        editor: EditorState,
        client: LanguageServer,
        changed: Callable[[Iterable[str]], None],
        watch: Watch = changes,
    ) -> None:
        """`changed` is called with the URIs of files that may belong to the workspace."""
        self._editor, self._client, self._changed, self._watch = editor, client, changed, watch
        self._registered = False
        self._waiting, self._judging = set[str](), asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Watch the folders as they are now; call it again when they, or the rules, change."""
        if not self._by_client:
            self.close()
            folders, settings = self._editor.folders, self._editor.settings
            roots = [root for root in folders.roots if settings.index_automatic == "always" or not is_everything(root)]
            self._task = asyncio.create_task(self._follow(roots, settings.files))
        elif not self._registered:  # one pattern stands for all folders, those to come too
            self._registered = True
            watcher = types.FileSystemWatcher(glob_pattern="**/*")
            options = types.DidChangeWatchedFilesRegistrationOptions([watcher])
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            registration = types.Registration("winnow-files", method, options)
            self._client.client_register_capability(types.RegistrationParams([registration]))

    async def changed(self, uris: Iterable[str]) -> None:
        """Pass on what changed on disk or in the editor, but for files that names or ignore patterns leave out.

        Nothing is remembered, as some rules change without an event. What arrives meanwhile is judged in one walk.
        """
        self._waiting.update(uris)
        async with self._judging:
            waiting, self._waiting = self._waiting, set()
            if paths := self._paths(waiting):
                within, rules = self._editor.folders.all, self._editor.settings.files
                ignored = await asyncio.to_thread(_left_out, within, paths.values(), rules)
                self._changed(uri for uri, path in paths.items() if _counts(path, ignored))

    def _paths(self, uris: Iterable[str]) -> dict[str, str]:
        """The workspace paths of files, by URI, without those whose own names leave them out."""
        prefix_of = cache(partial(directory_prefix, self._editor.folders.all))  # a branch switch reports thousands
        return {
            uri: prefix + file.name
            for uri in uris
            if (file := local_path(uri))
            and (prefix := prefix_of(file.parent)) is not None
            and reason_against_path(prefix + file.name) is None
        }

    def close(self) -> None:
        """Watch no longer."""
        if self._task is not None:
            self._task.cancel()

    @property
    def _by_client(self) -> bool:
        workspace = self._client.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace else None
        return bool(watched and watched.dynamic_registration)

    async def _follow(self, roots: Iterable[Path], rules: FileRules) -> None:
        try:
            async for paths in self._watch(roots, rules):
                await self.changed(path.as_uri() for path in paths)
        except (OSError, RuntimeError, ValueError) as error:  # the limit of watches; a path that is not UTF-8
            message = f"changes on disk are noticed at the next question only: {error}"
            _log.warning("%s", message)
            self._client.window_log_message(types.LogMessageParams(types.MessageType.Warning, message))
