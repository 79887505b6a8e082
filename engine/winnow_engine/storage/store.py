"""The cache on disk: named arrays under a content hash, in one SQLite file and in packs.

SQLite takes small and gradual records, and makes every write atomic, whatever kills the process. Packs (packs.py) take
large ones that are needed together. Several processes share both. Damaged records count as missing. Where nothing can
be written, as on a full disk, new records stay in memory.
"""

from __future__ import annotations

import errno
import hashlib
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from winnow_engine.errors import WorkspaceError
from winnow_engine.platform import user
from winnow_engine.storage.folders import cache_folder, make_folder
from winnow_engine.storage.mapped import remove
from winnow_engine.storage.packs import Pack, Packs, Record, files_by_use

_log = logging.getLogger(__name__)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS record (
    namespace TEXT NOT NULL, key TEXT NOT NULL, checksum BLOB NOT NULL, data BLOB NOT NULL,
    used INTEGER NOT NULL DEFAULT (unixepoch()), PRIMARY KEY (namespace, key)
) WITHOUT ROWID
"""
_KEYS_A_QUERY = 500
_LOCK_WAIT_S = 30
_PACK_BYTES, _PACK_EVERY_S, _MOST_WAITING_BYTES = 8 << 20, 2.0, 64 << 20
_MOST_FREE_BYTES, _MOST_COPIED_BYTES = 64 << 20, 512 << 20
_NO_WRITING = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM)
_NO_PLACE = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT)
_WRITE_EVERY_S = 0.5  # a transaction takes from 0.8 ms to tens of milliseconds, however little is in it

T = TypeVar("T")

CACHE_BYTES = 4 * 10**9
"""The size the cache is trimmed to unless somebody says otherwise: 50 million tokens with an adapter's keys."""


def content_key(path: str, data: bytes) -> str:
    """Key of a file's records. The path is part of it, because the drafter reads the path too."""
    return hashlib.blake2b(path.encode("utf-8", "surrogateescape") + b"\0" + data, digest_size=20).hexdigest()


def checksum(data: bytes) -> bytes:
    """Checksum of a record's bytes, 16 bytes."""
    return hashlib.blake2b(data, digest_size=16).digest()


class FallbackStore(Protocol):
    """Packed records that others made, for those that a store lacks. Never raises for a missing record."""

    problem: str | None

    def keys(self, namespace: str, keys: Iterable[str]) -> set[str]:
        """Keys that have a record."""

    def get(self, namespace: str, keys: Iterable[str]) -> dict[str, bytes]:
        """Records found, by key."""


class Store:
    """Records by (namespace, key); a namespace names what made them. Safe to use from several threads."""

    def __init__(self, path: Path, *, must_save: bool = False) -> None:
        """Open or create the file; one that is not a database is replaced. Raises WorkspaceError if that fails."""
        try:
            self._file, self._connection = _opened(path)
        except (OSError, sqlite3.Error) as error:
            raise _refused(path, error) from error
        self._path, self._lock, self._closed, self._must_save = path, threading.Lock(), False, must_save
        self._fallbacks: dict[str, FallbackStore] = {}  # replaced, never changed
        self._wanted: dict[Hashable, tuple[str, ...]] = {}  # the places of each client's settings
        self._folder = path.parent / f"{path.stem}.packs"
        self._packs: dict[str, Packs] = {}
        self._unsaved: dict[tuple[str, str], Record] = {}  # replaced, never changed
        self._refusal: Exception | None = None  # why they could not be saved
        self.max_bytes = CACHE_BYTES
        """What the cache should be trimmed to."""
        self.workspaces = path.parent / f"{path.stem}.workspaces"
        """The folder of workspace caches."""

    def attach(self, client: Hashable, locations: Iterable[str], open_fallback: Callable[[str], FallbackStore]) -> None:
        """Look up records in these places, too, and no longer in others that only `client` wanted. Finds are kept."""
        with self._lock:
            self._wanted[client] = tuple(locations)
            wanted = dict.fromkeys(chain.from_iterable(self._wanted.values()))
            self._fallbacks = {one: self._fallbacks.get(one) or open_fallback(one) for one in wanted}

    def detach(self, client: Hashable) -> None:
        """Forget `client`, and the places that nobody else wants."""
        with self._lock:
            self._wanted.pop(client, None)
            wanted = set(chain.from_iterable(self._wanted.values()))
            self._fallbacks = {place: one for place, one in self._fallbacks.items() if place in wanted}

    @property
    def problems(self) -> tuple[str, ...]:
        """Problems of the fallback stores, and that nothing can be saved, for the user."""
        found = tuple(one.problem for one in self._fallbacks.values() if one.problem)
        if not self._unsaved or not (error := self._refusal):
            return found
        why = "the disk is full" if _is_full(error) else "the cache cannot be written"
        return (*found, f"{why} and nothing new is saved in {self._path}; {_remedy(error)}")

    def get(self, namespace: str, keys: Iterable[str]) -> dict[str, Record]:
        """Records found, by key; each is marked as used."""
        wanted = list(keys)
        found = self.packs(namespace).get(wanted)
        found.update((key, load(data)) for key, data in self._rows(namespace, _without(wanted, found)))
        unsaved = self._unsaved
        found.update((key, unsaved[namespace, key]) for key in wanted if (namespace, key) in unsaved)
        found.update(self.packs(namespace).get(_without(wanted, found)))  # another process may have just packed some
        for fallback in self._fallbacks.values():
            if missing := _without(wanted, found):
                taken = {
                    key: record for key, data in fallback.get(namespace, missing).items() if (record := _loaded(data))
                }
                self.put_many(namespace, taken)
                found.update(taken)
        return found

    def packed(self, namespace: str, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Keys found with their records as they are stored one by one; each is marked as used."""
        wanted = list(keys)
        found = self.packs(namespace).get(wanted)
        yield from ((key, _packed(record)) for key, record in found.items())
        yield from self._rows(namespace, _without(wanted, found))

    def packs(self, namespace: str) -> Packs:
        """The packs of a namespace."""
        return self._packs.setdefault(namespace, Packs(self._folder / namespace))

    def pack(self, namespace: str, records: Mapping[str, Record]) -> bool:
        """Store records as one pack, in this order, instead of one by one. False if that fails."""
        try:
            self.packs(namespace).add(records)
        except (OSError, ValueError) as error:
            _log.warning("%s cannot be written: %s", self._folder / namespace, error)
            return False
        gone = [(f"DELETE FROM record WHERE {where}", values) for where, values in _conditions(namespace, records)]
        self._do(lambda ask: [ask.execute(*one) for one in gone], when_unwritable=lambda _: [])
        return True

    def join(self, namespace: str, packs: Sequence[Pack], keys: Sequence[str]) -> bool:
        """Make one pack of several, in which the records with these keys come first. False if any of them stays."""
        try:
            self.packs(namespace).join(packs, keys)
        except OSError as error:  # more packs than need be, for now
            _log.warning("%s cannot be written: %s", self._folder / namespace, error)
        return not any(pack.path.exists() for pack in packs)

    def _rows(self, namespace: str, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        for where, values in _conditions(namespace, keys):
            rows = self._do(lambda ask: _used(ask, where, values), lambda ask: _found(ask, where, values))  # noqa: B023
            yield from ((key, data) for key, found, data in rows if isinstance(data, bytes) and checksum(data) == found)

    def keys(self, namespace: str, keys: Iterable[str]) -> set[str]:
        """Keys that have a record, damaged or not."""
        wanted = list(keys)
        asked = [(f"SELECT key FROM record WHERE {where}", values) for where, values in _conditions(namespace, wanted)]
        found = self._do(lambda ask: {key for one in asked for (key,) in ask.execute(*one)})
        found.update(key for key in wanted if (namespace, key) in self._unsaved)
        found.update(self.packs(namespace).known(wanted))  # after the table, because records move from it into packs
        return found.union(*(one.keys(namespace, set(wanted) - found) for one in self._fallbacks.values()))

    def put(self, namespace: str, key: str, record: Record) -> None:
        """Store a record, as `put_many` does."""
        self.put_many(namespace, {key: record})

    def put_many(self, namespace: str, records: Mapping[str, Record]) -> None:
        """Store records by key, all or none of them. Once this returns, they survive the death of the process.

        If nothing can be written, they stay in memory instead, and `problems` says so. WorkspaceError beyond 64 MB.
        """
        named = {(namespace, key): record for key, record in records.items()}

        def keep(_: object) -> bool:
            kept = self._unsaved | named
            if sum(array.nbytes for record in kept.values() for array in record.values()) > _MOST_WAITING_BYTES:
                assert self._refusal is not None
                raise self._refusal
            self._unsaved = kept
            return False

        self._insert(named, keep)

    def check_writable(self) -> None:
        """Raise WorkspaceError if nothing can be written, but new records must be saved (`must_save`)."""
        if self._must_save:
            self._do(lambda ask: ask.execute("PRAGMA user_version = 0"))
            if self._file is None:
                raise _refused(self._path, OSError(errno.ENOSPC, "no space left on the disk"))

    def save_rest(self) -> None:
        """Store the records that stayed in memory. WorkspaceError if they still cannot be written."""
        if self._unsaved:
            self._insert(self._unsaved, None)

    def _insert(self, named: dict[tuple[str, str], Record], when_unwritable: Callable[[object], bool] | None) -> None:
        """Store records, which then need not stay in memory. `when_unwritable` returns False."""
        packed = {name: _packed(record) for name, record in named.items()}
        rows = [(*name, checksum(data), data) for name, data in packed.items()]
        insert = "INSERT OR REPLACE INTO record (namespace, key, checksum, data) VALUES (?, ?, ?, ?)"
        if self._do(lambda ask: bool(ask.executemany(insert, rows)), when_unwritable):
            with self._lock:
                self._unsaved = {name: record for name, record in self._unsaved.items() if name not in packed}

    @contextmanager
    def writer(self, namespace: str, *, needed: bool = True) -> Iterator[Writer]:
        """A writer of many records. All are stored when the block ends, also by an exception.

        Those that are not `needed` are dropped where they cannot be stored.
        """
        writer = Writer(self, namespace, needed)
        try:
            yield writer
        finally:
            writer.flush()

    def trim(self, max_bytes: int) -> int:
        """Delete what was used longest ago until the rest fits `max_bytes`; returns the number of records and files."""
        whole = "typeof(used) = 'integer' AND typeof(data) = 'blob'"
        sizes = f"SELECT used, LENGTH(data), namespace, key FROM record WHERE {whole}"
        rows = self._do(lambda ask: ask.execute(sizes).fetchall())
        files = [*files_by_use(self._folder), *files_by_use(self.workspaces)]
        total, gone = 0, []
        for _, size, *what in sorted([*rows, *files], key=lambda one: (-one[0], str(one[2:]))):
            total += size
            gone += [what] if total > max_bytes else []
        for (path,) in (what for what in gone if len(what) == 1):
            remove(path)
        records = [what for what in gone if len(what) > 1]
        delete = "DELETE FROM record WHERE namespace = ? AND key = ?"
        self._do(lambda ask: ask.executemany(delete, records), when_unwritable=lambda _: None)
        self._shrink()
        return len(gone)

    def _shrink(self) -> None:
        """Give back the space of deleted records, if that is most of the file and the rest is quickly copied."""
        ask = self._connection.execute
        try:
            with self._lock:
                page, pages, free = (
                    ask(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count", "freelist_count")
                )
                used = pages - free
                if free * page > _MOST_FREE_BYTES and used < free and used * page < _MOST_COPIED_BYTES:
                    ask("VACUUM")
        except sqlite3.Error as error:  # another process is at it, or the disk has no room for the copy
            _log.info("%s was not made smaller: %s", self._path, error)

    def close(self) -> None:
        """Release the file; a transaction of another thread ends first."""
        with self._lock:
            self._connection.close()
            self._closed = True

    def _do(
        self, work: Callable[[sqlite3.Connection], T], when_unwritable: Callable[[sqlite3.Connection], T] | None = None
    ) -> T:
        """Do work in a transaction, one thread at a time, and once more in a new file if this one is damaged.

        Does `when_unwritable` where nothing can be written. Errors of SQLite and the system become WorkspaceErrors.
        """
        try:
            with self._lock:
                # `_file` is None if there can be none; the identity differs if somebody deleted or replaced the file.
                if not self._closed and (self._file is None or _identity(self._path) != self._file):
                    self._connection.close()
                    self._file, self._connection = _opened(self._path)
                try:
                    with self._connection:
                        return work(self._connection)
                except sqlite3.DatabaseError as error:
                    if self._closed or not _is_damage(error):
                        raise
                    _log.warning("%s is damaged (%s) and begun anew", self._path, error)
                    self._connection.close()
                    if _identity(self._path) == self._file:  # another process may have been first
                        self._path.unlink()
                    self._file, self._connection = _opened(self._path)
                    with self._connection:
                        return work(self._connection)
        except (OSError, sqlite3.Error) as error:
            if when_unwritable is None or not _is_unwritable(error):
                raise _refused(self._path, error) from error
            self._refusal = error
        return self._do(when_unwritable)


class Writer:
    """Stores records of one namespace twice a second, or as packs every two seconds where they come fast."""

    def __init__(self, store: Store, namespace: str, needed: bool) -> None:
        self._store, self._namespace, self._needed = store, namespace, needed
        self._waiting: dict[str, Record] = {}
        self._bytes, self._flushed_at = 0, time.monotonic()

    def put(self, key: str, record: Record) -> None:
        """Store a record soon."""
        self._waiting[key] = record
        self._bytes += sum(array.nbytes for array in record.values())
        every_s = _PACK_EVERY_S if self._bytes >= _PACK_BYTES else _WRITE_EVERY_S
        if time.monotonic() - self._flushed_at >= every_s or self._bytes >= _MOST_WAITING_BYTES:
            self.flush()

    def flush(self) -> None:
        """Store waiting records now."""
        packed = self._bytes >= _PACK_BYTES and self._store.pack(self._namespace, self._waiting)
        try:
            if self._waiting and not packed:
                self._store.put_many(self._namespace, self._waiting)
        except WorkspaceError:
            if self._needed:
                raise
        self._waiting, self._bytes, self._flushed_at = {}, 0, time.monotonic()


def _conditions(namespace: str, keys: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """SQL conditions, with their values, that together hold for the records with these keys."""
    wanted = list(keys)
    for start in range(0, len(wanted), _KEYS_A_QUERY):
        some = wanted[start : start + _KEYS_A_QUERY]
        yield f"namespace = ? AND key IN ({','.join('?' * len(some))})", [namespace, *some]


def _used(connection: sqlite3.Connection, where: str, values: Sequence[str]) -> list[tuple[str, bytes, Any]]:
    """Key, checksum and data of records, which are marked as used. The update has SQLite wait for the write lock."""
    connection.execute(f"UPDATE record SET used = unixepoch() WHERE {where}", values)
    return _found(connection, where, values)


def _found(connection: sqlite3.Connection, where: str, values: Sequence[str]) -> list[tuple[str, bytes, Any]]:
    """Key, checksum and data of records."""
    rows = connection.execute(f"SELECT key, checksum, data FROM record WHERE {where}", values).fetchall()
    if not {key for key, *_ in rows} <= set(values):
        raise sqlite3.DatabaseError("its keys are out of order")
    return rows


def _loaded(data: bytes) -> Record | None:
    try:
        return dict(load(data))
    except (SafetensorError, ValueError, KeyError):  # the last for a type that NumPy lacks
        return None


def _without(keys: Iterable[str], found: Container[str]) -> list[str]:
    return [key for key in keys if key not in found]


def _packed(record: Record) -> bytes:
    data: bytes = save({name: np.ascontiguousarray(value) for name, value in record.items()})
    return data


def _opened(path: Path) -> tuple[tuple[int, int] | None, sqlite3.Connection]:
    """The file's identity, and the database in it. Only the user may read it: it reveals much of the code.

    One that can only be read is enough. If there can be none, the identity is None and the database one in memory that
    takes no records.
    """
    try:
        make_folder(path.parent)
        path.touch(mode=0o600)
        if path.stat().st_uid == user():
            path.chmod(0o600)
        return _identity(path), _open(path)
    except (OSError, sqlite3.Error) as error:
        if not _is_unwritable(error):
            raise
        with suppress(OSError, sqlite3.Error):
            if identity := _identity(path):
                return identity, _open(path)
        memory = _open(Path(":memory:"))
        memory.execute("PRAGMA max_page_count=1" if _is_full(error) else "PRAGMA query_only=1")
        return None, memory


def _identity(path: Path) -> tuple[int, int] | None:
    """Device and number of a file; None if there is none for this user."""
    with suppress(FileNotFoundError, PermissionError):
        status = path.stat()
        return status.st_dev, status.st_ino
    return None


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


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """True if a file is no database, or not one with our table; text that is not UTF-8 has no code."""
    wrong_use = isinstance(error, sqlite3.ProgrammingError)  # such as a value that SQLite cannot take
    return not wrong_use and getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF in _DAMAGE


def _is_unwritable(error: Exception) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _NO_WRITING or getattr(error, "errno", 0) in _NO_PLACE


def _is_full(error: Exception) -> bool:
    full = errno.ENOSPC, errno.EDQUOT
    return getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL or getattr(error, "errno", 0) in full


def _remedy(error: Exception) -> str:
    return f"{'free some room' if _is_full(error) else 'make it writable or delete it'}, or set WINNOW_CACHE_DIR"


def _refused(path: Path, error: Exception) -> WorkspaceError:
    return WorkspaceError(f"the index cache {path} cannot be used: {error}; {_remedy(error)}")


def default_path() -> Path:
    """`index.sqlite` in the cache folder."""
    return cache_folder() / "index.sqlite"
