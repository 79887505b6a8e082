"""Publishing of a workspace's records as a shard of a shared index."""

from __future__ import annotations

import filecmp
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from winnow_engine.core import counted
from winnow_engine.errors import SharedIndexError
from winnow_engine.platform import try_lock
from winnow_engine.sharing.shards import (
    CONTENTS,
    Contents,
    RecordPlace,
    Shard,
    Table,
    content_name,
    packed_contents,
    packed_table,
    unpacked_contents,
)
from winnow_engine.storage.folders import sync_folder, temporary
from winnow_engine.storage.store import Store, checksum

_LOCK = "winnow-index.lock"
_POLL_S = 0.1
_READABLE = 0o644  # a web server runs as another user


def publish(store: Store, names: Mapping[str, Sequence[str]], files: int, out: Path, repository: str) -> Shard:
    """Write the records with these names, keys by namespace, in place of the repository's last shard in `out`.

    Raises SharedIndexError if a record is missing or the folder cannot be written; the index is then as it was.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        with _alone(out), temporary(out) as records:
            packed = packed_table(_write(store, names, records))
            shard = Shard(content_name(packed), len(packed), records.stat().st_size, files)
            contents = _contents(out)
            if contents.get(repository) != shard or not _is_there(shard, out, records, packed):
                records.replace(out / shard.records)
                _put(out, shard.table, packed)
                sync_folder(out)  # what the list of contents names is there before it
                _put(out, CONTENTS, packed_contents({**contents, repository: shard}))
                sync_folder(out)  # and what it no longer names goes after it
                _clear(out, contents, {**contents, repository: shard})
    except OSError as error:
        raise SharedIndexError(f"the index {out} cannot be written: {error.strerror or error}") from error
    return shard


def _write(store: Store, names: Mapping[str, Sequence[str]], path: Path) -> Table:
    table: dict[str, dict[str, RecordPlace]] = {}
    start = 0
    with path.open("wb") as file:
        for namespace in sorted(names):
            places = table.setdefault(namespace, {})
            for key, data in store.packed(namespace, sorted(set(names[namespace]))):
                places[key] = RecordPlace(start, len(data), checksum(data))
                file.write(data)
                start += len(data)
            if missing := set(names[namespace]) - places.keys():
                raise SharedIndexError(f"{counted(len(missing), 'record')} gone from the cache: index again")
        _finish(file)
    return table


def _contents(out: Path) -> Contents:
    try:
        return unpacked_contents((out / CONTENTS).read_bytes())
    except FileNotFoundError:
        return {}
    except SharedIndexError as error:
        advice = "write elsewhere, or delete it and write each of its repositories again"
        raise SharedIndexError(f"nothing can be added to the index {out}: {error}; {advice}") from error


def _is_there(shard: Shard, out: Path, records: Path, table: bytes) -> bool:
    try:
        return (out / shard.table).read_bytes() == table and filecmp.cmp(records, out / shard.records, shallow=False)
    except OSError:
        return False


def _put(out: Path, name: str, data: bytes) -> None:
    with temporary(out) as path:
        with path.open("wb") as file:
            file.write(data)
            _finish(file)
        path.replace(out / name)


def _finish(file: IO[bytes]) -> None:
    file.flush()
    Path(file.name).chmod(_READABLE)
    os.fsync(file.fileno())


def _clear(out: Path, before: Contents, after: Contents) -> None:
    kept = {shard.content for shard in after.values()}
    for shard in before.values():
        if shard.content not in kept:
            (out / shard.table).unlink(missing_ok=True)
            (out / shard.records).unlink(missing_ok=True)


@contextmanager
def _alone(out: Path) -> Iterator[None]:
    """Admit one writer at a time: the list of contents is read and written back."""
    with (out / _LOCK).open("w") as lock:
        while not try_lock(lock.fileno()):
            time.sleep(_POLL_S)
        yield
