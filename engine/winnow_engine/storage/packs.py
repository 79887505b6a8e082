"""Packs: files with many records of one namespace each, mapped into memory and shared by processes.

A record's arrays are rows of the pack's, so a workspace whose records lie in a pack has its arrays at once. Packs are
written once, by a rename, and deleted as a whole. A key may be in several packs; each record is as good.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_engine.platform import is_folder
from winnow_engine.storage.mapped import mark_used, open_arrays, remove, used_at, write_arrays

Record = Mapping[str, NDArray[Any]]

_KEYS, _ROWS = "keys", "rows."
_KEY_BYTES = 20


def packed_keys(keys: Iterable[str]) -> NDArray[np.uint8]:
    """Keys as their bytes, uint8 [N, 20]."""
    return np.frombuffer(bytes.fromhex("".join(keys)), np.uint8).reshape(-1, _KEY_BYTES)


def unpacked_keys(rows: NDArray[Any]) -> list[str]:
    """The inverse of `packed_keys`."""
    text = rows.tobytes().hex()
    return [text[start : start + 2 * _KEY_BYTES] for start in range(0, len(text), 2 * _KEY_BYTES)]


class Pack:
    """One file. `arrays` are those of all its records, one after the other."""

    def __init__(self, path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.path = path
        self.arrays = {name: array for name, array in arrays.items() if name != _KEYS and not name.startswith(_ROWS)}
        self.starts: dict[str, NDArray[np.int64]] = {name: arrays[_ROWS + name] for name in self.arrays}
        """By array: record r is rows starts[r]:starts[r+1], int64 [R+1]."""
        self._hashes = arrays[_KEYS]

    @cached_property
    def keys(self) -> list[str]:
        """The keys of the records, in order."""
        return unpacked_keys(self._hashes)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each record by its key."""
        return {key: number for number, key in enumerate(self.keys)}

    def record(self, key: str) -> Record:
        """A record's arrays, as views."""
        number = self.numbers[key]
        ends = {name: starts[number : number + 2].tolist() for name, starts in self.starts.items()}
        return {name: rows[slice(*ends[name])] for name, rows in self.arrays.items()}


class Packs:
    """The packs of a namespace: a folder. Safe to use from several threads and processes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[Path, Pack | None] = {}  # None: damaged

    def all(self) -> list[Pack]:
        """Packs that are there now and whole, those used last first."""
        paths = set(self._folder.glob("*.pack")) if is_folder(self._folder) else set()
        there = {path: pack for path, pack in self._open.items() if path in paths}
        for path in paths - there.keys():
            found = open_arrays(path)
            there[path] = None if found is None else Pack(path, found)
        self._open = there  # never changed, because other threads read it
        return sorted((pack for pack in there.values() if pack), key=lambda pack: -used_at(pack.path))

    def get(self, keys: Iterable[str]) -> dict[str, Record]:
        """Records found, by key, as views of the mapped arrays."""
        wanted, found = set(keys), dict[str, Record]()
        for pack in self.all() if wanted else ():
            there = wanted & pack.numbers.keys()
            found.update({key: pack.record(key) for key in there})
            wanted -= there
            if there:
                mark_used(pack.path)
        return found

    def known(self, keys: Iterable[str]) -> set[str]:
        """Keys that have a record."""
        wanted = set(keys)
        return {key for pack in self.all() for key in wanted & pack.numbers.keys()} if wanted else set()

    def add(self, records: Mapping[str, Record]) -> None:
        """Write records as a new pack, in this order. OSError if that fails; ValueError if they are not alike."""
        first = next(iter(records.values()))
        if any(_form(record) != _form(first) for record in records.values()):
            raise ValueError("these records do not have the same arrays")
        self._write(records)

    def join(self, packs: Sequence[Pack], keys: Sequence[str]) -> None:
        """Write several packs as one, these keys first and as many others as there are of them, and delete them.

        Nothing is done where that very pack is there already, as on systems that delete no mapped file.
        """
        place = {key: pack for pack in reversed(packs) for key in pack.keys}
        first = dict.fromkeys(key for key in keys if key in place)
        others = dict.fromkeys(key for pack in packs for key in pack.keys if key not in first)
        ordered = [*first, *list(others)[: len(first)]]
        if any(pack.keys == ordered for pack in self.all()):
            return  # and delete none, because another process may be deleting that pack
        self._write({key: place[key].record(key) for key in ordered})
        for pack in packs:
            remove(pack.path)

    def _write(self, records: Mapping[str, Record]) -> None:
        hashes = packed_keys(records)
        columns = {name: [record[name] for record in records.values()] for name in next(iter(records.values()))}
        starts = {_ROWS + name: [np.cumsum([0, *map(len, column)], dtype=np.int64)] for name, column in columns.items()}
        write_arrays(self._folder / f"{secrets.token_hex(8)}.pack", {_KEYS: [hashes], **starts, **columns})


def files_by_use(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """Files of arrays below a folder: time of last use, size, path."""
    for path in folder.rglob("*") if is_folder(folder) else ():
        with suppress(OSError):  # deleted since
            if path.is_file() and path.suffix not in (".verified", ".tmp"):
                yield used_at(path), path.stat().st_size, path


def _form(record: Record) -> list[tuple[str, Any, tuple[int, ...]]]:
    return [(name, rows.dtype, rows.shape[1:]) for name, rows in sorted(record.items())]
