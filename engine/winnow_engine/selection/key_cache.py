"""The drafter's keys for a workspace: taken from the store, or encoded and stored.

The index has the keys of whole files. Where it is not complete, some units of a file can be encoded ahead of the rest
(`first_look.py`). Their keys are stored apart from the index, because a unit that is encoded without those before it in
its file gets other keys.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Cancellation, Progress, ProgressSink, Scores, Unit
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.drafter.encoding import FileKeys, FileText
from winnow_engine.drafter.profile import join_arrays
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Workspace
from winnow_engine.runtime import Behind, Stages
from winnow_engine.store import Record, Store

_FORMAT = 1  # count up whenever what `Drafter.encode` gives for an unchanged file and profile would change
_TOKENS, _UNITS = "unit_tokens", "units"
TOKENS_PER_BYTE = 0.24
"""Of code, until enough of it has been counted."""
_WRITTEN_BEHIND = 100  # files whose keys wait to be stored
_ENOUGH_BYTES = 20_000
_ENOUGH_TOKENS = 2000  # for a throughput that is worth remembering
_ASSUMED_TOKENS_PER_S = {"cpu": 1000.0, "resident": 100_000.0}


@dataclass(frozen=True, slots=True)
class WorkspaceKeys:
    """The keys of a workspace's units, or of some of them.

    `units`, int64 [K], are the units that have keys. The k-th of them is the token rows offsets[k]:offsets[k+1],
    int64 [K+1], of the arrays. `unit_tokens`, int32 [U], is 0 for any other unit, and `missing_tokens` about how many
    tokens these have together; 0 if there are none.
    """

    unit_tokens: NDArray[np.int32]
    units: NDArray[np.int64]
    offsets: NDArray[np.int64]
    arrays: Mapping[str, NDArray[Any]]
    missing_tokens: int

    @property
    def tokens(self) -> int:
        """The tokens of the units that have keys."""
        return int(self.offsets[-1])

    def units_in(self, workspace: Workspace, paths: Sequence[str]) -> NDArray[np.int64]:
        """The units that have keys, int64 [N]: those in some files and folders, or all if no paths are given."""
        return np.intersect1d(self.units, workspace.units_in(paths)) if paths else self.units

    def tokens_of(self, units: NDArray[np.int64]) -> NDArray[np.int32]:
        """`unit_tokens` of some units, 0 for all others, int32 [U]."""
        tokens = np.zeros_like(self.unit_tokens)
        tokens[units] = self.unit_tokens[units]
        return tokens

    def by_unit(self, scores: Mapping[str, Scores]) -> dict[str, Scores]:
        """Scores of the units that have keys, float32 [K], as those of all units, float32 [U]; NaN for the others."""
        if not self.missing_tokens:
            return dict(scores)
        found = {name: np.full(len(self.unit_tokens), np.nan, np.float32) for name in scores}
        for name, values in scores.items():
            found[name][self.units] = values
        return found


@dataclass(frozen=True, slots=True)
class Part:
    """Some units of a file, by their numbers in it (int32 [N]), with their keys in that order."""

    units: NDArray[np.int32]
    keys: FileKeys

    def joined(self, other: Part) -> Part:
        """The units of both."""
        tokens = np.concatenate([self.keys.unit_tokens, other.keys.unit_tokens])
        arrays = join_arrays([self.keys.arrays, other.keys.arrays])
        return Part(np.concatenate([self.units, other.units]), FileKeys(tokens, arrays))


Parts = dict[int, Part]
"""What has keys, by the number of the file in the workspace."""


class KeyCache:
    """Keys by file content. The last workspace's keys stay in memory."""

    def __init__(self, store: Store, drafter: Drafter) -> None:
        self.drafter, self._store = drafter, store
        self._namespace = f"keys-{_FORMAT}-{drafter.identity}"
        self._ahead = f"ahead-{_FORMAT}-{drafter.identity}"
        self.tokens_per_s = _ASSUMED_TOKENS_PER_S[drafter.place]
        self._last: tuple[tuple[str, ...], WorkspaceKeys] | None = None
        self._fresh: dict[str, FileKeys] = {}

    def of(
        self,
        workspace: Workspace,
        progress: ProgressSink,
        cancellation: Cancellation,
        first: Sequence[str] = (),
        stages: Stages | None = None,
    ) -> WorkspaceKeys:
        """The keys of every unit. What a cancelled run has encoded is stored, too.

        Files are encoded in path order, after those whose paths are given as `first` and those that questions led to.
        """
        names = tuple(file.units_key for file in workspace.files)
        if self._last is None or self._last[0] != names:
            fresh, self._fresh = self._fresh, {}
            stored = self._store.get(self._namespace, [name for name in names if name not in fresh])
            found = fresh | {name: _file_keys(record) for name, record in stored.items()}
            missing = self._in_order(
                {name: file for name, file in zip(names, workspace.files, strict=True) if name not in found}, first
            )
            if missing:
                size = sum(file.content.size for file in missing.values())
                found |= self._encode(missing.values(), len(missing), size, progress, cancellation, stages or Stages())
            parts = {number: _whole(found[name]) for number, name in enumerate(names)}
            self._last = names, joined(workspace, parts)
        return self._last[1]

    def encode_early(
        self,
        files: Iterable[IndexedFile],
        count: int,
        size: int,
        progress: ProgressSink,
        cancellation: Cancellation,
        stages: Stages,
    ) -> None:
        """Encode files of a workspace that is still being read: `count` of them, with `size` bytes in all.

        Their keys are stored, and kept for the next call of `of`.
        """
        self._fresh = self._encode(files, count, size, progress, cancellation, stages)

    def record_names(self, workspace: Workspace) -> dict[str, list[str]]:
        """The names of the keys' records in the store, by namespace."""
        return {self._namespace: [file.units_key for file in workspace.files]}

    def _in_order(self, files: Mapping[str, IndexedFile], first: Sequence[str]) -> dict[str, IndexedFile]:
        """Files by the names of their keys, in the order in which to encode them."""
        places = {path: place for place, path in enumerate(first)}
        asked = self._store.keys(self._ahead, files)

        def order(named: tuple[str, IndexedFile]) -> tuple[int, bool]:
            name, file = named
            return places.get(file.path, len(first)), name not in asked

        return dict(sorted(files.items(), key=order))

    def missing_tokens(self, workspace: Workspace) -> int:
        """About how many tokens the files have whose keys are not in the index."""
        names = tuple(file.units_key for file in workspace.files)
        if self._last is not None and self._last[0] == names:
            return 0
        there = self._store.keys(self._namespace, names)
        sizes = (file.content.size for name, file in zip(names, workspace.files, strict=True) if name not in there)
        return round(sum(sizes) * TOKENS_PER_BYTE)

    def stored(self, workspace: Workspace) -> Parts:
        """What has keys already: whole files, and of other files the units that were encoded ahead."""
        names = [file.units_key for file in workspace.files]
        whole = self._store.get(self._namespace, names)
        ahead = self._store.get(self._ahead, [name for name in names if name not in whole])
        parts = {name: _whole(_file_keys(record)) for name, record in whole.items()}
        parts.update({name: Part(record[_UNITS], _file_keys(record)) for name, record in ahead.items()})
        return {number: parts[name] for number, name in enumerate(names) if name in parts}

    def encode_ahead(
        self,
        workspace: Workspace,
        parts: Parts,
        units: Iterable[int],
        progress: ProgressSink,
        cancellation: Cancellation,
    ) -> Parts:
        """`parts`, and of other units these, by number: each file's are encoded together, without its other units."""
        wanted = _by_file(workspace, units)
        sizes = {number: sum(map(_bytes, some)) for number, (_, some) in wanted.items()}
        report = _Report(len(sizes), sum(sizes.values()), progress)
        texts = (
            FileText(workspace.files[number].local_path, workspace.files[number].texts(some))
            for number, (_, some) in wanted.items()
        )
        found = dict(parts)
        with self._store.writer(self._ahead) as writer:
            encoded = self._timed(self.drafter.encode(texts, cancellation))
            for (number, (local, _)), keys in zip(wanted.items(), encoded, strict=True):
                part = Part(local, keys)
                found[number] = found[number].joined(part) if number in found else part
                record = {_UNITS: found[number].units, **_record(found[number].keys)}
                writer.put(workspace.files[number].units_key, record)
                report.add(keys, sizes[number])
        return found

    def _encode(
        self,
        files: Iterable[IndexedFile],
        count: int,
        size: int,
        progress: ProgressSink,
        cancellation: Cancellation,
        stages: Stages,
    ) -> dict[str, FileKeys]:
        """The keys of `count` files with `size` bytes in all, each stored, by the names of their records."""
        report = _Report(count, size, progress)
        taken: deque[IndexedFile] = deque()

        def texts() -> Iterator[FileText]:
            for file in files:
                taken.append(file)
                yield FileText(file.local_path, file.texts(file.units))

        def write(name: str, keys: FileKeys) -> None:
            with stages.busy("write"):
                writer.put(name, _record(keys))

        encoded = {}
        with self._store.writer(self._namespace) as writer, Behind(_WRITTEN_BEHIND) as behind:
            for keys in self._timed(self.drafter.encode(texts(), cancellation, stages)):
                file = taken.popleft()
                encoded[file.units_key] = keys
                behind.add(partial(write, file.units_key, keys))
                report.add(keys, file.content.size)
        return encoded

    def _timed(self, encoded: Iterator[FileKeys]) -> Iterator[FileKeys]:
        """The same keys; notes how fast they came."""
        started, tokens = time.perf_counter(), 0
        for keys in encoded:
            tokens += int(keys.unit_tokens.sum())
            yield keys
        if tokens >= _ENOUGH_TOKENS:
            self.tokens_per_s = tokens / (time.perf_counter() - started)


class _Report:
    """Reports progress by file. The tokens still to come are estimated from the bytes of all files together."""

    def __init__(self, count: int, size: int, progress: ProgressSink) -> None:
        self._count, self._size, self._progress = count, size, progress
        self._done = self._done_bytes = self._tokens = 0
        self._started = time.perf_counter()

    def add(self, keys: FileKeys, size: int) -> None:
        self._done_bytes += size
        self._done += 1
        self._tokens += int(keys.unit_tokens.sum())
        total = round(self._tokens * self._size / self._done_bytes)
        elapsed = time.perf_counter() - self._started
        self._progress(Progress("index", self._done, self._count, self._tokens, total, elapsed))


def _record(keys: FileKeys) -> Record:
    return {_TOKENS: keys.unit_tokens, **keys.arrays}


def _file_keys(record: Record) -> FileKeys:
    return FileKeys(record[_TOKENS], {name: value for name, value in record.items() if name not in (_TOKENS, _UNITS)})


def _whole(keys: FileKeys) -> Part:
    return Part(np.arange(len(keys.unit_tokens), dtype=np.int32), keys)


def _bytes(unit: Unit) -> int:
    return unit.end_byte - unit.start_byte


def _by_file(workspace: Workspace, units: Iterable[int]) -> dict[int, tuple[NDArray[np.int32], list[Unit]]]:
    """Units by the number of their file: their numbers in it, and themselves, in file order."""
    numbers = np.unique(np.fromiter(units, np.int64))
    files = np.searchsorted(workspace.unit_starts, numbers, side="right") - 1
    found = {}
    for file in np.unique(files).tolist():
        local = (numbers[files == file] - workspace.unit_starts[file]).astype(np.int32)
        found[file] = local, [workspace.files[file].units[unit] for unit in local]
    return found


def joined(workspace: Workspace, parts: Parts) -> WorkspaceKeys:
    """The keys of a workspace from those of its files."""
    order = sorted(parts)
    units = [workspace.unit_starts[number] + parts[number].units for number in order]
    tokens = [parts[number].keys.unit_tokens for number in order]
    with_keys = np.concatenate([np.empty(0, np.int64), *units])
    rows = np.concatenate([np.empty(0, np.int32), *tokens])
    unit_tokens = np.zeros(int(workspace.unit_starts[-1]), np.int32)
    unit_tokens[with_keys] = rows
    arrays = join_arrays([parts[number].keys.arrays for number in order])
    missing = _missing_tokens(workspace, with_keys, int(rows.sum()))
    return WorkspaceKeys(unit_tokens, with_keys, np.cumsum([0, *rows]), arrays, missing)


def _missing_tokens(workspace: Workspace, with_keys: NDArray[np.int64], tokens: int) -> int:
    """About how many tokens the other units have, by their bytes; at least 1 if there are any."""
    if len(with_keys) == workspace.unit_starts[-1]:
        return 0
    sizes = workspace.unit_bytes
    known = int(sizes[with_keys].sum())
    return max(round((int(sizes.sum()) - known) * (tokens / known if known > _ENOUGH_BYTES else TOKENS_PER_BYTE)), 1)
