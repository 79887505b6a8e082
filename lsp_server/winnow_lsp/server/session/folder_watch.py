"""Changes of files on disk, as the operating system reports them.

On Linux all programs of a user share a number of watches, and each folder takes one: so only folders that count are
watched there, each without those in it. Where none is left, the folders are looked at again and again.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import aclosing
from pathlib import Path

from watchfiles import awatch
from watchfiles.main import FileChange

from winnow_engine.config import FileRules
from winnow_engine.errors import WorkspaceError
from winnow_engine.index.files import folders
from winnow_engine.index.ignore import RULE_FILES
from winnow_engine.platform import watches_single_folders

_DEBOUNCE_MS = 500
_PAUSE_S = 5.0  # before the same folders are asked for again
_POLL_S = 5.0
_log = logging.getLogger(__name__)


async def changes(roots: Iterable[Path], rules: FileRules, notice: Callable[[str], None]) -> AsyncIterator[set[Path]]:
    """Files that changed below `roots`, and folders that are gone, in batches. Raises OSError, RuntimeError.

    Ends where there is no folder to watch. `notice` is told where the system does not watch.
    """
    polling = False
    now = await asyncio.to_thread(_watchable, roots, rules)
    while watched := now:
        try:
            certain = False  # a folder made while the system was being asked to watch is not reported
            async with aclosing(_asked_to_watch(watched, polling)) as batches:
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
        except (OSError, RuntimeError) as error:  # no watch is left, or no watcher
            if polling:
                raise
            polling = True
            notice(f"{_first(error)}: changes on disk are looked for every {_POLL_S:.0f} s")
        if moved := (watched - now) | await asyncio.to_thread(_files_in, now - watched):
            yield moved


def _first(error: Exception) -> str:
    """The first sentence of the watcher's error."""
    return str(error).partition(". ")[0]


def _asked_to_watch(watched: set[Path], polling: bool) -> AsyncGenerator[set[FileChange], None]:
    """Changes in folders; an empty set every few seconds in which there are none."""
    # Without `ignore_permission_denied`, which would also hide that no watch is left.
    return awatch(
        *watched,
        watch_filter=None,
        debounce=_DEBOUNCE_MS,
        recursive=not watches_single_folders(),
        yield_on_timeout=True,
        force_polling=polling or None,
        poll_delay_ms=int(_POLL_S * 1000),
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
    """The files of folders that are new."""
    found = set[Path]()
    for folder in new:
        try:
            found.update(path for path in folder.iterdir() if not path.is_dir())
        except OSError:
            continue
    return found
