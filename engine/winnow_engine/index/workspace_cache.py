"""Files on disk from which the next process starts: a workspace's stat data and tables. The last writer wins."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from winnow_engine.index.stat_cache import StatCache
from winnow_engine.index.tables import Tables
from winnow_engine.storage.mapped import mark_used, open_arrays, write_arrays

_log = logging.getLogger(__name__)
_FILES, _TABLES = "files-3", "tables-1"  # count up whenever these would be read in another way


class WorkspaceCache:
    """Cache of one workspace in `folder`. `identity` names it: its roots, rules, and the version of records."""

    def __init__(self, folder: Path, identity: str) -> None:
        self.identity = hashlib.blake2b(identity.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
        self._folder = folder

    def load_stats(self, stats: StatCache) -> None:
        """Restore the stat data of files, if they were saved."""
        if (columns := self._open(_FILES)) is not None:
            stats.load(columns)

    def save_stats(self, stats: StatCache) -> None:
        """Save the stat data of files."""
        self._write(_FILES, stats.columns())

    def tables(self) -> Tables | None:
        """The tables, if there are any."""
        arrays = self._open(_TABLES)
        return None if arrays is None else Tables(arrays)

    def save_tables(self, tables: Tables) -> Tables:
        """The same tables from the disk, where processes share them; those given if they cannot be written."""
        self._write(_TABLES, tables.arrays)
        saved = self.tables()
        return saved if saved is not None and saved.keys == tables.keys and saved.paths == tables.paths else tables

    def _open(self, name: str) -> dict[str, NDArray[Any]] | None:
        place = self._place(name)
        found = open_arrays(place)
        if found is not None:
            mark_used(place)
        return found

    def _write(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        try:
            write_arrays(self._place(name), {one: [array] for one, array in arrays.items()})
        except OSError as error:  # the next process takes longer to start
            _log.info("%s cannot be written: %s", self._place(name), error)

    def _place(self, name: str) -> Path:
        return self._folder / f"{self.identity}.{name}"
