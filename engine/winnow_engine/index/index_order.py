"""Order of indexing: files open in editors, then those edited lately, then those of the last commits.

Times of files tell of edits, because git knows nothing of uncommitted ones. After a fresh checkout all files are about
as old, and only the commits tell.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from winnow_engine.core import Cancellation
from winnow_engine.errors import GitError
from winnow_engine.git.log import changed_lately
from winnow_engine.git.repository import open_repository
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Sources

_APART_S = 3600.0  # later than the median, from which a change stands out
_MOST = 100  # files; the rest is best read folder by folder


def first_to_index(
    sources: Sources, files: Sequence[IndexedFile], cancellation: Cancellation | None = None
) -> list[str]:
    """Paths of the files to index before all others, in order."""
    times = {file.path: _changed_at(sources, file) for file in files}
    usual = statistics.median(times.values()) if times else 0.0
    edited = sorted((path for path, time in times.items() if time > usual + _APART_S), key=lambda path: -times[path])
    committed = _committed(sources, cancellation or Cancellation())
    lately = dict.fromkeys([*edited, *(path for path in committed if path in times)])
    there = [path for path in sources.open_documents if path in times]
    return list(dict.fromkeys([*there, *list(lately)[:_MOST]]))


def _committed(sources: Sources, cancellation: Cancellation) -> Iterator[str]:
    """Paths of the files that the last commits changed, repository by repository."""
    for folder in sources.folders:
        try:
            paths = changed_lately(open_repository(folder.root, cancellation))
        except GitError:  # no repository, no git, or one that belongs to somebody else
            continue
        yield from map(folder.workspace_path, paths)


def _changed_at(sources: Sources, file: IndexedFile) -> float:
    """Time of the last write, in seconds since the epoch; 0 if the file is not on disk."""
    for folder in sources.folders:
        if folder.workspace_path(file.local_path) == file.path:
            try:
                return (folder.root / file.local_path).stat().st_mtime
            except OSError:  # only in an editor, or deleted since
                continue
    return 0.0
