"""Which files to index first: those open in editors, then those that changed lately.

What changed is told by the files' times, not by git. Git runs programs that a repository's configuration names, and it
does not know what is not committed. After a fresh checkout all files are about as old, and none comes first.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Sources

_APART_S = 3600.0  # later than the median, from which a change stands out
_MOST = 100  # files; the rest is best read folder by folder


def first_to_index(sources: Sources, files: Sequence[IndexedFile]) -> list[str]:
    """The paths of the files to index before all others, in order."""
    times = {file.path: _changed_at(sources, file) for file in files}
    usual = statistics.median(times.values()) if times else 0.0
    lately = sorted((path for path, time in times.items() if time > usual + _APART_S), key=lambda path: -times[path])
    there = [path for path in sources.open_documents if path in times]
    return list(dict.fromkeys([*there, *lately[:_MOST]]))


def _changed_at(sources: Sources, file: IndexedFile) -> float:
    """When the file was last written, in seconds since the epoch; 0 if it is not on disk."""
    for folder in sources.folders:
        if folder.workspace_path(file.local_path) == file.path:
            try:
                return (folder.root / file.local_path).stat().st_mtime
            except OSError:  # only in an editor, or deleted since
                continue
    return 0.0
