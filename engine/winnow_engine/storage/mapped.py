"""Files of named arrays that processes map into memory, and share.

A file is written beside its place, synced, and renamed, so that a reader sees all of it or nothing. Its checksum is
verified when this state of the file is first opened, by stat data and a note beside it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from winnow_engine.storage.folders import make_folder, sync_folder, temporary

Array = NDArray[Any]

_MAGIC = b"WINNOW01"
_ALIGNMENT = 64
_DIGEST = 16
_CHUNK = 1 << 24
_LONGEST_TICK_S = 3.0  # see index/stat_cache.py


@dataclass(frozen=True, slots=True)
class _Entry:
    """Type, shape and place of an array: its bytes begin at `start`, counted from the end of the header."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    digest: str

    @property
    def size(self) -> int:
        return int(np.dtype(self.dtype).itemsize * np.prod(self.shape, dtype=np.int64))


def write_arrays(path: Path, columns: Mapping[str, Sequence[Array]]) -> None:
    """Write arrays by name, each joined from its chunks without a copy. Raises OSError."""
    make_folder(path.parent, 0o700)
    with temporary(path.parent) as beside:
        with beside.open("wb") as file:
            _write(file, columns)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    sync_folder(path.parent)


def open_arrays(path: Path) -> dict[str, Array] | None:
    """Arrays of a file, mapped read-only. None if it is missing or damaged."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_size < len(_MAGIC) + 8:
                return None
            raw = np.memmap(file, np.uint8, "r")
    except OSError:
        return None
    try:
        entries, start = _header(raw)
        arrays = {name: _view(raw, entry, start) for name, entry in entries.items()}
    except (ValueError, KeyError, TypeError, UnicodeDecodeError):
        return None
    if not _verified(path, status):
        if any(_digest(arrays[name]) != entry.digest for name, entry in entries.items()):
            return None
        _note_verified(path, status)
    return arrays


def used_at(path: Path) -> float:
    """Time of the last `mark_used` of a file, in seconds since the epoch; else of its writing."""
    for place in (_note(path), path):
        with contextlib.suppress(OSError):
            return place.stat().st_mtime
    return 0.0


def mark_used(path: Path) -> None:
    """Note that a file is in use, where that can be written."""
    with contextlib.suppress(OSError):
        os.utime(_note(path))


def remove(path: Path) -> None:
    """Delete a file with its note. Processes that have mapped it keep it; where the system forbids that, it stays."""
    with contextlib.suppress(OSError):
        path.unlink()
        _note(path).unlink(missing_ok=True)


def _write(file: IO[bytes], columns: Mapping[str, Sequence[Array]]) -> None:
    entries, start = {}, 0
    for name, chunks in columns.items():
        shape = (sum(len(chunk) for chunk in chunks), *chunks[0].shape[1:])
        entries[name] = _Entry(chunks[0].dtype.str, shape, start, "0" * 2 * _DIGEST)
        start = _aligned(start + entries[name].size)
    header = _packed(entries)  # as long as it will be with the digests
    file.write(header)
    for name, chunks in columns.items():
        entry = entries[name]
        file.write(bytes(len(header) + entry.start - file.tell()))
        digest = hashlib.blake2b(digest_size=_DIGEST)
        for chunk in chunks:
            for part in _bytes_of(chunk):
                digest.update(part)
                file.write(part)
        entries[name] = _Entry(entry.dtype, entry.shape, entry.start, digest.hexdigest())
    file.seek(0)
    file.write(_packed(entries))


def _packed(entries: Mapping[str, _Entry]) -> bytes:
    """The header: magic, length, digest, JSON, and zeros up to where arrays may begin."""
    table = {name: [entry.dtype, entry.shape, entry.start, entry.digest] for name, entry in entries.items()}
    text = json.dumps({"arrays": table}).encode()
    head = _MAGIC + len(text).to_bytes(8, "little") + hashlib.blake2b(text, digest_size=_DIGEST).digest() + text
    return head.ljust(_aligned(len(head)), b"\0")


def _header(raw: Array) -> tuple[dict[str, _Entry], int]:
    """Entries, and where the arrays begin. ValueError or the like if it is no header."""
    first = len(_MAGIC) + 8
    length = int.from_bytes(raw[len(_MAGIC) : first].tobytes(), "little")
    digest, text = raw[first : first + _DIGEST].tobytes(), raw[first + _DIGEST : first + _DIGEST + length].tobytes()
    if raw[: len(_MAGIC)].tobytes() != _MAGIC or hashlib.blake2b(text, digest_size=_DIGEST).digest() != digest:
        raise ValueError("not a file of arrays")
    found = json.loads(text)
    entries = {
        name: _Entry(dtype, tuple(shape), at, sum_) for name, (dtype, shape, at, sum_) in found["arrays"].items()
    }
    return entries, _aligned(first + _DIGEST + length)


def _view(raw: Array, entry: _Entry, start: int) -> Array:
    """An array of the file; ValueError if the file is too short for it."""
    part = raw[start + entry.start : start + entry.start + entry.size]
    return np.asarray(part).view(np.dtype(entry.dtype)).reshape(entry.shape)


def _bytes_of(array: Array) -> list[memoryview]:
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return [flat[start : start + _CHUNK].data for start in range(0, len(flat), _CHUNK)]


def _digest(array: Array) -> str:
    digest = hashlib.blake2b(digest_size=_DIGEST)
    for part in _bytes_of(array):
        digest.update(part)
    return digest.hexdigest()


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _note(path: Path) -> Path:
    return path.with_name(f"{path.name}.verified")


def _stamp(status: os.stat_result) -> str:
    return json.dumps([status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns])


def _verified(path: Path, status: os.stat_result) -> bool:
    try:
        return _note(path).read_text() == _stamp(status)
    except (OSError, ValueError):
        return False


def _note_verified(path: Path, status: os.stat_result) -> None:
    """Note it, unless the file is so young that it could change without its times changing."""
    if time.time() - status.st_ctime > _LONGEST_TICK_S:
        with contextlib.suppress(OSError):  # a cache that is read-only: verified each time
            _note(path).write_text(_stamp(status))
