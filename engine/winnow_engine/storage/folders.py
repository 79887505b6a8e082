"""Cache folders, and files that several processes share there. Imports no NumPy: a command asks before that."""

from __future__ import annotations

import errno
import logging
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from winnow_engine.errors import WorkspaceError
from winnow_engine.platform import expanded, is_folder, is_unix, user_folder

_OURS, _TEMPORARY = ".winnow-", ".tmp"  # a folder may be the user's, with temporary files of others
_ABANDONED_S = 3600.0  # no write pauses that long
_log = logging.getLogger(__name__)
_NO_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EACCES}  # network shares; a folder that may only be entered


def cache_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """`$WINNOW_CACHE_DIR`, or the platform's cache directory for Winnow. Raises WorkspaceError if there is neither."""
    override = environment.get("WINNOW_CACHE_DIR")
    if folder := expanded(override) if override else user_folder("cache"):
        return folder
    raise WorkspaceError("this user has no home folder for the cache: set WINNOW_CACHE_DIR, or HOME")


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder, and those above it, so that they survive a power cut."""
    new = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(mode=mode, parents=True, exist_ok=True)
    for one in new:
        sync_folder(one.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a power cut, where the system can do that. Contents are synced before."""
    if not is_unix():
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def files_in(folder: Path) -> Iterator[tuple[Path, float, int]]:
    """Files in a folder, with the time of their last use and their size in bytes."""
    for path in folder.iterdir() if is_folder(folder) else ():
        try:
            stat = path.stat()
        except FileNotFoundError:
            continue
        yield path, stat.st_mtime, stat.st_size


def used_last_first(folder: Path) -> list[tuple[Path, float, int]]:
    """As `files_in`, the file that was used last first."""
    return sorted(files_in(folder), key=lambda file: -file[1])


def delete(path: Path) -> None:
    """Delete a file, which another process may have deleted. Logs a refusal of the system."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        _log.warning("%s cannot be deleted: %s", path, error)


def delete_abandoned(folder: Path) -> None:
    """Delete temporary files of processes that were killed."""
    old = time.time() - _ABANDONED_S
    for path, written, _ in files_in(folder):
        if path.name.startswith(_OURS) and path.suffix == _TEMPORARY and written < old:
            delete(path)


@contextmanager
def temporary(folder: Path) -> Iterator[Path]:
    """A new file that only the user may read, deleted afterwards unless renamed, by a later process if need be."""
    delete_abandoned(folder)
    handle, name = tempfile.mkstemp(dir=folder, prefix=_OURS, suffix=_TEMPORARY)
    os.close(handle)
    path = Path(name)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
