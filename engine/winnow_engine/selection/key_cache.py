"""The drafter's keys for a workspace: taken from the store, or encoded and stored."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Cancellation, Progress, ProgressSink
from winnow_engine.drafter.drafter import Drafter, FileKeys, FileText
from winnow_engine.drafter.profile import join_arrays
from winnow_engine.index.workspace import IndexedFile, Workspace
from winnow_engine.store import Record, Store

_FORMAT = 1  # count up whenever what `Drafter.encode` gives for an unchanged file and profile would change
_TOKENS = "unit_tokens"


@dataclass(frozen=True, slots=True)
class WorkspaceKeys:
    """Tokens by unit, int32 [U]; unit u is the token rows offsets[u]:offsets[u+1], int64 [U+1]; arrays by name."""

    unit_tokens: NDArray[np.int32]
    offsets: NDArray[np.int64]
    arrays: Mapping[str, NDArray[Any]]


class KeyCache:
    """Keys by file content. The last workspace's keys stay in memory."""

    def __init__(self, store: Store, drafter: Drafter) -> None:
        self.drafter, self._store = drafter, store
        self._namespace = f"keys-{_FORMAT}-{drafter.identity}"
        self._last: tuple[tuple[str, ...], WorkspaceKeys] | None = None

    def of(self, workspace: Workspace, progress: ProgressSink, cancellation: Cancellation) -> WorkspaceKeys:
        """The keys of every unit. What a cancelled run has encoded is stored, too."""
        names = tuple(map(_keys_name, workspace.files))
        if self._last is None or self._last[0] != names:
            found = {name: _file_keys(record) for name, record in self._store.get(self._namespace, names).items()}
            missing = {name: file for name, file in zip(names, workspace.files, strict=True) if name not in found}
            found.update(self._encode(missing, progress, cancellation))
            self._last = names, _joined([found[name] for name in names])
        return self._last[1]

    def _encode(
        self, files: Mapping[str, IndexedFile], progress: ProgressSink, cancellation: Cancellation
    ) -> dict[str, FileKeys]:
        """The keys of files, each stored under its name in `files`."""
        report = _Report(list(files.values()), progress)
        texts = (FileText(file.local_path, tuple(map(file.text_of, file.units))) for file in files.values())
        encoded = {}
        with self._store.writer(self._namespace) as writer:
            for (name, file), keys in zip(files.items(), self.drafter.encode(texts, cancellation), strict=True):
                encoded[name] = keys
                writer.put(name, _record(keys))
                report.add(file, keys)
        return encoded


class _Report:
    """Reports progress by file. The tokens still to come are estimated from the bytes."""

    def __init__(self, files: Sequence[IndexedFile], progress: ProgressSink) -> None:
        self._files, self._progress = files, progress
        self._bytes = sum(len(file.data) for file in files)
        self._done = self._done_bytes = self._tokens = 0
        self._started = time.perf_counter()

    def add(self, file: IndexedFile, keys: FileKeys) -> None:
        self._done += 1
        self._done_bytes += len(file.data)
        self._tokens += int(keys.unit_tokens.sum())
        total = round(self._tokens * self._bytes / self._done_bytes)
        elapsed = time.perf_counter() - self._started
        self._progress(Progress("index", self._done, len(self._files), self._tokens, total, elapsed))


def _keys_name(file: IndexedFile) -> str:
    """The name of a file's keys, from its content and from where its units end, which depends on the parser too."""
    borders = np.array([unit.end_byte for unit in file.units], np.int64)
    return hashlib.blake2b(file.key.encode() + borders.tobytes(), digest_size=20).hexdigest()


def _record(keys: FileKeys) -> Record:
    return {_TOKENS: keys.unit_tokens, **keys.arrays}


def _file_keys(record: Record) -> FileKeys:
    return FileKeys(record[_TOKENS], {name: value for name, value in record.items() if name != _TOKENS})


def _joined(files: Sequence[FileKeys]) -> WorkspaceKeys:
    tokens = np.concatenate([file.unit_tokens for file in files]) if files else np.empty(0, np.int32)
    return WorkspaceKeys(tokens, np.cumsum([0, *tokens]), join_arrays([file.arrays for file in files]))
