"""A shared index as the store sees it: records by namespace and key, each verified. It may be away, or unsound."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Hashable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from winnow_engine.errors import SharedIndexError
from winnow_engine.platform import expanded
from winnow_engine.sharing.shards import (
    CONTENTS,
    MOST_BYTES,
    RecordPlace,
    Shard,
    Table,
    content_name,
    sound,
    unpacked_contents,
    unpacked_table,
)
from winnow_engine.storage.store import Store


class IndexFiles(Protocol):
    """Files of one index. Both methods raise SharedIndexError."""

    def whole(self, name: str, most_bytes: int) -> bytes:
        """A file's bytes. One longer than `most_bytes` is refused."""

    def part(self, name: str, start: int, stop: int, file_bytes: int) -> bytes:
        """The bytes start:stop of a file of `file_bytes`."""


def files_at(location: str) -> IndexFiles:
    """Files at a location: a server's URL, or a folder."""
    if not location.startswith(("http://", "https://")):
        return FolderFiles(Path(location))
    from winnow_engine.sharing.http import HttpFiles  # httpx takes 0.1 s to import

    return HttpFiles(location)


class FolderFiles:
    """A folder. It may lie on a share that comes and goes."""

    def __init__(self, folder: Path) -> None:
        self._folder = expanded(str(folder))

    def whole(self, name: str, most_bytes: int) -> bytes:
        """See `IndexFiles`."""
        return self._read(name, 0, most_bytes + 1, most_bytes)

    def part(self, name: str, start: int, stop: int, file_bytes: int) -> bytes:
        """See `IndexFiles`."""
        return self._read(name, start, stop - start, file_bytes)

    def _read(self, name: str, start: int, size: int, most_bytes: int) -> bytes:
        try:
            with (self._folder / name).open("rb") as file:
                file.seek(start)
                data = file.read(min(size, os.fstat(file.fileno()).st_size))  # whose memory is taken beforehand
        except OSError as error:
            raise SharedIndexError(f"{name} cannot be read: {error.strerror or error}") from error
        if len(data) > most_bytes:
            raise SharedIndexError(f"{name} has more than {most_bytes:,} bytes")
        return data


def runs(places: Sequence[tuple[int, int]], gap: int, most: int) -> list[list[int]]:
    """Groups of sorted byte ranges, by index, to read at once: less than `gap` apart, at most `most` bytes."""
    found: list[list[int]] = []
    for number, (start, stop) in enumerate(places):
        if found and start - places[found[-1][-1]][1] <= gap and stop - places[found[-1][0]][0] <= most:
            found[-1].append(number)
        else:
            found.append([number])
    return found


_GAP, _AT_ONCE = 64 << 10, 8 << 20  # bytes: read across a gap rather than ask twice; a request's longest answer
_FRESH_S, _AGAIN_S = 300.0, 60.0
"""For how long the list of contents is taken for current, and for how long an index that failed is left alone."""


def attach(store: Store, locations: Iterable[str], client: Hashable = None) -> None:
    """Have the store look up for `client` in these indexes alone the records it lacks. Nothing is read before."""
    store.attach(client, locations, SharedIndex)


class SharedIndex:
    """Reads an index that others wrote, from any thread. Unsound records count as missing; `problem` says why."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.problem: str | None = None
        self._files: IndexFiles | None = None
        self._shards: dict[str, tuple[Shard, Table]] = {}
        self._next_look, self._lock = 0.0, threading.Lock()

    def keys(self, namespace: str, keys: Iterable[str]) -> set[str]:
        """Keys that have a record."""
        with self._lock:
            self._look()
            return {key for key in keys if any(key in table.get(namespace, ()) for _, table in self._shards.values())}

    def get(self, namespace: str, keys: Iterable[str]) -> dict[str, bytes]:
        """Records found, packed, by key."""
        with self._lock:
            self._look()
            wanted, found = set(keys), dict[str, bytes]()
            for shard, table in self._shards.values():
                here = table.get(namespace, {})
                try:
                    found.update(self._read(shard, {key: here[key] for key in wanted - found.keys() if key in here}))
                except SharedIndexError as error:
                    self._give_up(error)
                    break
            return found

    def _look(self) -> None:
        if time.monotonic() < self._next_look:
            return
        try:
            self._files = self._files or files_at(self.location)
            contents = unpacked_contents(self._files.whole(CONTENTS, MOST_BYTES))
            known = self._shards
            self._shards = {
                shard.content: known.get(shard.content) or (shard, self._table(self._files, shard))
                for shard in contents.values()
            }
        except SharedIndexError as error:
            self._give_up(error)
        else:
            self.problem, self._next_look = None, time.monotonic() + _FRESH_S

    def _table(self, files: IndexFiles, shard: Shard) -> Table:
        data = files.whole(shard.table, shard.table_bytes)
        if content_name(data) != shard.content:
            raise SharedIndexError(f"{shard.table} is not what {CONTENTS} says: it is half copied, or was changed")
        return unpacked_table(data)

    def _read(self, shard: Shard, places: dict[str, RecordPlace]) -> dict[str, bytes]:
        assert self._files is not None, "shards are known from files"
        ordered = sorted(places.items(), key=lambda item: item[1].start)
        found = {}
        for run in runs([(place.start, place.stop) for _, place in ordered], _GAP, _AT_ONCE):
            start, stop = ordered[run[0]][1].start, ordered[run[-1]][1].stop
            data = self._files.part(shard.records, start, stop, shard.record_bytes)
            for key, place in (ordered[number] for number in run):
                record = data[place.start - start : place.stop - start]
                if not sound(record, place):
                    raise SharedIndexError(f"{shard.records} is damaged: write it anew with `winnow index --out`")
                found[key] = record
        return found

    def _give_up(self, error: SharedIndexError) -> None:
        """Leave the index alone for a while: a question must not wait for it each time."""
        self.problem = f"the shared index {self.location} is not used: {error}; what it lacks is indexed here"
        self._shards, self._next_look = {}, time.monotonic() + _AGAIN_S
