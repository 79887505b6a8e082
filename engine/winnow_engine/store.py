"""The cache on disk: named arrays under a content hash, in one SQLite file.

SQLite makes every write atomic, whatever kills the process, and lets several processes share the file. Every record
carries a checksum; a damaged one counts as missing.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from winnow_engine.errors import WorkspaceError
from winnow_engine.folders import cache_folder
from winnow_engine.system import user

Record = Mapping[str, NDArray[Any]]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS record (
    namespace TEXT NOT NULL, key TEXT NOT NULL, checksum BLOB NOT NULL, data BLOB NOT NULL,
    used INTEGER NOT NULL DEFAULT (unixepoch()), PRIMARY KEY (namespace, key)
) WITHOUT ROWID
"""
_KEYS_A_QUERY = 500
_LOCK_WAIT_S = 30
_WRITE_EVERY_S = 0.5  # a transaction takes from 0.8 ms to tens of milliseconds, however little is in it

CACHE_BYTES = 4 << 30
"""The size the cache is trimmed to: about 60 million tokens of an adapter's keys."""


def content_key(path: str, data: bytes) -> str:
    """The key of a file's records. The path is part of it, because the drafter reads the path too."""
    return hashlib.blake2b(path.encode("utf-8", "surrogateescape") + b"\0" + data, digest_size=20).hexdigest()


def checksum(data: bytes) -> bytes:
    """What a record's bytes are checked against, 16 bytes."""
    return hashlib.blake2b(data, digest_size=16).digest()


class Beneath(Protocol):
    """Records that others made, packed: what a store lacks is looked up there. Never raises for what is not there."""

    problem: str | None

    def keys(self, namespace: str, keys: Iterable[str]) -> set[str]:
        """Those keys that have a record."""

    def get(self, namespace: str, keys: Iterable[str]) -> dict[str, bytes]:
        """The records found, by key."""


class Store:
    """Records by (namespace, key); a namespace names what made them. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        """Open or create the file; one that is not a database is replaced. Raises WorkspaceError if that fails."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _make_private(path)
            self._connection = _open(path)
        except (OSError, sqlite3.Error) as error:
            raise _refused(path, error) from error
        self._path, self._lock = path, threading.Lock()
        self._beneath: dict[str, Beneath] = {}
        self.workspaces = path.parent / f"{path.stem}.workspaces"
        """The folder for what is kept of whole workspaces."""

    def attach(self, location: str, open_beneath: Callable[[str], Beneath]) -> None:
        """From now on look up there, too, what this store lacks; what is found is kept here."""
        if location not in self._beneath:
            self._beneath[location] = open_beneath(location)

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with what is attached, for the user."""
        return tuple(one.problem for one in self._beneath.values() if one.problem)

    def get(self, namespace: str, keys: Iterable[str]) -> dict[str, Record]:
        """The records found, by key; each is marked as used."""
        wanted = list(keys)
        found = {key: load(data) for key, data in self.packed(namespace, wanted)}
        for beneath in self._beneath.values():
            missing = [key for key in wanted if key not in found]
            if missing:
                taken = {
                    key: record for key, data in beneath.get(namespace, missing).items() if (record := _loaded(data))
                }
                self.put_many(namespace, taken)
                found.update(taken)
        return found

    def packed(self, namespace: str, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """The keys found with their records as they are stored; each is marked as used."""
        for where, values in _conditions(namespace, keys):
            with self._transaction() as connection:
                # The update comes first, so that SQLite itself waits for the write lock.
                connection.execute(f"UPDATE record SET used = unixepoch() WHERE {where}", values)
                rows = connection.execute(f"SELECT key, checksum, data FROM record WHERE {where}", values).fetchall()
            yield from ((key, data) for key, found, data in rows if checksum(data) == found)

    def keys(self, namespace: str, keys: Iterable[str]) -> set[str]:
        """Those keys that have a record, damaged or not."""
        wanted = list(keys)
        with self._transaction() as connection:
            queries = (
                connection.execute(f"SELECT key FROM record WHERE {where}", values)
                for where, values in _conditions(namespace, wanted)
            )
            found = {key for rows in queries for (key,) in rows}
        return found.union(*(one.keys(namespace, set(wanted) - found) for one in self._beneath.values()))

    def put(self, namespace: str, key: str, record: Record) -> None:
        """Store a record. Once this returns, the record survives the death of the process."""
        self.put_many(namespace, {key: record})

    def put_many(self, namespace: str, records: Mapping[str, Record]) -> None:
        """Store records by key, all or none of them. Once this returns, they survive the death of the process."""
        packed = {key: _packed(record) for key, record in records.items()}
        rows = [(namespace, key, checksum(data), data) for key, data in packed.items()]
        with self._transaction() as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO record (namespace, key, checksum, data) VALUES (?, ?, ?, ?)", rows
            )

    @contextmanager
    def writer(self, namespace: str) -> Iterator[Writer]:
        """For records that are made one after the other. All are stored when the block ends, also by an exception."""
        writer = Writer(self, namespace)
        try:
            yield writer
        finally:
            writer.flush()

    def trim(self, max_bytes: int) -> int:
        """Delete the least recently used records until the rest fit `max_bytes`. Returns how many were deleted."""
        newest_first = "SELECT namespace, key, SUM(LENGTH(data)) OVER (ORDER BY used DESC, key) AS total FROM record"
        over = f"SELECT namespace, key FROM ({newest_first}) WHERE total > ?"
        with self._transaction() as connection:
            gone = connection.execute(over, [max_bytes]).fetchall()
            connection.executemany("DELETE FROM record WHERE namespace = ? AND key = ?", gone)
        return len(gone)

    def close(self) -> None:
        """Release the file."""
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction, one thread at a time. SQLite's errors become WorkspaceErrors."""
        try:
            with self._lock, self._connection:
                yield self._connection
        except sqlite3.Error as error:
            raise _refused(self._path, error) from error


class Writer:
    """Stores records of one namespace many at a time, twice a second: a killed process loses what is younger."""

    def __init__(self, store: Store, namespace: str) -> None:
        self._store, self._namespace = store, namespace
        self._waiting: dict[str, Record] = {}
        self._flushed_at = time.monotonic()

    def put(self, key: str, record: Record) -> None:
        """Store a record soon."""
        self._waiting[key] = record
        if time.monotonic() - self._flushed_at >= _WRITE_EVERY_S:
            self.flush()

    def flush(self) -> None:
        """Store now what waits."""
        if self._waiting:
            self._store.put_many(self._namespace, self._waiting)
        self._waiting, self._flushed_at = {}, time.monotonic()


def _conditions(namespace: str, keys: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """SQL conditions, with their values, that together hold for the records with these keys."""
    wanted = list(keys)
    for start in range(0, len(wanted), _KEYS_A_QUERY):
        some = wanted[start : start + _KEYS_A_QUERY]
        yield f"namespace = ? AND key IN ({','.join('?' * len(some))})", [namespace, *some]


def _loaded(data: bytes) -> Record | None:
    """A record from elsewhere; None if it is malformed."""
    try:
        return dict(load(data))
    except (SafetensorError, ValueError):
        return None


def _packed(record: Record) -> bytes:
    data: bytes = save({name: np.ascontiguousarray(value) for name, value in record.items()})
    return data


def _make_private(path: Path) -> None:
    """Create the file if need be, and let only the user read it: it reveals much of the code."""
    path.touch(mode=0o600)
    if path.stat().st_uid == user():
        path.chmod(0o600)


def _open(path: Path) -> sqlite3.Connection:
    """The database at `path`. A file that is no database is replaced; one that is merely busy is waited for."""
    connection = sqlite3.connect(path, timeout=_LOCK_WAIT_S, check_same_thread=False)
    try:
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(_SCHEMA)
    except sqlite3.OperationalError:
        connection.close()
        raise
    except sqlite3.DatabaseError:
        connection.close()
        path.unlink()
        return _open(path)
    return connection


def _refused(path: Path, error: Exception) -> WorkspaceError:
    return WorkspaceError(f"the index cache {path} cannot be used: {error}; delete it, or set WINNOW_CACHE_DIR")


def default_path() -> Path:
    """`index.sqlite` in the cache folder."""
    return cache_folder() / "index.sqlite"
