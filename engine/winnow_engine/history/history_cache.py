"""What is kept on disk of a repository's history: a table, and a small one that continues it.

The first is written once there is enough in the second. Both can be made again, and each takes its place by a rename:
of several processes that write, the last wins, and either's is as good. The second says which first it continues. A
file that is damaged, or that continues another, counts as missing.
"""

from __future__ import annotations

import hashlib
import logging
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from winnow_engine.git.log import Lineage
from winnow_engine.history.table import HistoryTable, continued
from winnow_engine.storage.mapped import mark_used, open_arrays, remove, write_arrays

_log = logging.getLogger(__name__)
_WHOLE, _RECENT = "history-2", "history-recent-2"  # count up whenever these would be made in another way
_LEAST_RECENT, _SHARE_RECENT = 2000, 8


class KeptHistory:
    """The files of one history in `folder`."""

    def __init__(self, folder: Path, lineage: Lineage) -> None:
        identity = lineage.identity.encode("utf-8", "surrogateescape")
        self._name = hashlib.blake2b(identity, digest_size=16).hexdigest()
        self._folder = folder
        self._token = ""

    @property
    def exists(self) -> bool:
        """Whether something was kept of it."""
        return self._place(_WHOLE).is_file()

    def load(self) -> list[HistoryTable]:
        """No table, one, or two of which the second continues the first."""
        whole = self._open(_WHOLE)
        if whole is None:
            return []
        self._token = whole[1]["token"]
        tables = [HistoryTable(0, whole[0])]
        recent = self._open(_RECENT)
        if recent is not None and recent[1].get("token") == self._token:
            tables.append(HistoryTable(len(tables[0]), recent[0]))
        return tables

    def save(self, tables: Sequence[HistoryTable], *, first_changed: bool) -> list[HistoryTable]:
        """Keep tables of which each continues those before it; gives them as they are kept.

        `first_changed` says that the first is not as it was loaded.
        """
        first, rest = tables[0], tables[1:]
        many = sum(map(len, rest)) > max(_LEAST_RECENT, len(first) // _SHARE_RECENT)
        if first_changed or many:
            whole = continued(tables)
            self._token = uuid.uuid4().hex
            self._write(_WHOLE, whole)
            remove(self._place(_RECENT))
            return [whole]
        if not rest:
            return [first]
        recent = continued(rest)
        self._write(_RECENT, recent)
        return [first, recent]

    def _open(self, name: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
        place = self._place(name)
        found = open_arrays(place)
        if found is not None:
            mark_used(place)
        return found

    def _write(self, name: str, table: HistoryTable) -> None:
        try:
            columns = {one: [array] for one, array in table.arrays.items()}
            write_arrays(self._place(name), columns, {"token": self._token})
        except OSError as error:  # the next process reads the commits again
            _log.warning("%s cannot be written: %s", self._place(name), error)

    def _place(self, name: str) -> Path:
        return self._folder / f"{self._name}.{name}"
