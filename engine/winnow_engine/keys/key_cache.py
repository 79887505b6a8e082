"""The drafter's keys for a workspace: taken from the store, or encoded and stored.

The index has the keys of whole files. Where it is not complete, a first look has some units encoded ahead of the rest.
Their keys stay in memory, because a unit that is encoded without those before it in its file gets other keys.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Budget, Cancellation, Progress, ProgressSink, Unit
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.file_encoder import FileKeys, FileText
from winnow_engine.errors import WorkspaceError
from winnow_engine.fleet.fleet import Fleet
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.chunks import PlannedFile, chunk_hash, earlier_chunks
from winnow_engine.keys.key_lookup import (
    EncodedUnits,
    KeyLookup,
    KeysByFile,
    keys_of,
    keys_of_record,
    locate,
    record_of,
    tidied,
    whole_file,
)
from winnow_engine.keys.workspace_keys import TOKENS_PER_BYTE, WorkspaceKeys
from winnow_engine.runtime import BackgroundWriter, FairLock
from winnow_engine.storage.store import Store


class IndexReport:
    """Reports progress by file, with those done before. Tokens to come are estimated from the files' bytes."""

    def __init__(self, count: int, size: int, progress: ProgressSink, before: int = 0) -> None:
        self._count, self._size, self._progress = before + count, size, progress
        self._done, self._done_bytes, self._tokens = before, 0, 0
        self._started = time.perf_counter()

    def add(self, keys: FileKeys, size: int) -> None:
        """A file of this size is done."""
        self._done_bytes += size
        self._done += 1
        self._tokens += int(keys.unit_tokens.sum())
        total = round(self._tokens * self._size / max(self._done_bytes, 1))
        elapsed = time.perf_counter() - self._started
        self._progress(Progress("index", self._done, self._count, self._tokens, total, elapsed))


_FORMAT = 1  # count up whenever what `Drafter.encode` gives for an unchanged file and profile would change
_MOST_WAITING = 100  # files whose keys wait to be stored
_LOCKS = 32
_WORTH_WAITING_S = 10.0  # for the complete index, before a question is answered
_ENOUGH_TOKENS = 2000  # for a throughput that is worth remembering
_ASSUMED_TOKENS_PER_S = {"cpu": 1000.0, "resident": 100_000.0}


class KeyCache:
    """Keys by file content. The last workspace's keys stay in memory. Safe to use from several threads."""

    def __init__(self, store: Store, drafter: Drafter, encoder: Callable[[], Drafter | Fleet] | None = None) -> None:
        """`encoder` gives what encodes in the drafter's place; it has to be of the same identity."""
        self.drafter, self._store = drafter, store
        self._encoder = encoder or (lambda: drafter)
        self._namespace = f"keys-{_FORMAT}-{drafter.identity}"
        self._chunks = f"pieces-1-{drafter.identity}"
        self._ahead: dict[str, EncodedUnits] = {}  # by the name of the keys of the whole file
        self.tokens_per_s = _ASSUMED_TOKENS_PER_S[drafter.place]
        self._last: tuple[tuple[str, ...], WorkspaceKeys] | None = None
        self._locks = [FairLock(1) for _ in range(_LOCKS)]  # one workspace has always the same, others mostly another

    def of(
        self, workspace: Workspace, progress: ProgressSink, cancellation: Cancellation, first: Sequence[str] = ()
    ) -> WorkspaceKeys:
        """The keys of every unit; `first` are paths to encode first. A cancelled run stores what it has encoded."""
        names = workspace.units_keys
        with self._locks[hash(names) % _LOCKS].held(cancellation):
            last = self._last
            if last is None or last[0] != names:
                found = self._complete(workspace, progress, cancellation, first)
                loose = {number: whole_file(record) for number, record in found.loose.items()}
                last = self._last = names, keys_of(workspace, loose, found.parts(workspace))
                self._ahead.clear()
            return last[1]

    def _complete(
        self, workspace: Workspace, progress: ProgressSink, cancellation: Cancellation, first: Sequence[str]
    ) -> KeyLookup:
        """The keys of all files, after encoding those missing. WorkspaceError if these do not stay."""
        found = locate(self._store, self._namespace, workspace)
        for _ in range(2):  # again if the store was damaged, since that empties it
            if not found.missing:
                break
            files = {workspace.units_keys[number]: workspace.files[number] for number in found.missing}
            size = sum(file.content.size for file in files.values())
            there = len(workspace.files) - len(files)
            ordered = sorted(files, key=lambda name: (files[name].path not in first, name not in self._ahead))
            self.encode(map(files.__getitem__, ordered), len(files), size, progress, cancellation, there)
            found = locate(self._store, self._namespace, workspace)
        while not found.missing and tidied(self._store, self._namespace, workspace, found):
            found = locate(self._store, self._namespace, workspace)
        if found.missing:
            raise WorkspaceError("the index is deleted as fast as it is made; raise the setting cacheMegabytes")
        return found

    def record_names(self, workspace: Workspace) -> dict[str, list[str]]:
        """The names of the keys' records in the store, by namespace."""
        return {self._namespace: list(workspace.units_keys)}

    def takes_all(self, budget: Budget, missing: int) -> bool:
        """True if a question waits for all keys, where those of `missing` tokens are not there."""
        soon = max(budget.first_look_tokens, _WORTH_WAITING_S * self.tokens_per_s)
        return not budget.first_look_tokens or missing <= soon or soon < (budget.tokens(missing) or 0)

    def missing_tokens(self, workspace: Workspace) -> int:
        """About how many tokens the files have whose keys are not in the index."""
        names = workspace.units_keys
        if self._last is not None and self._last[0] == names:
            return 0
        there = self._store.keys(self._namespace, names)
        sizes = (file.content.size for name, file in zip(names, workspace.files, strict=True) if name not in there)
        return round(sum(sizes) * TOKENS_PER_BYTE)

    def stored(self, workspace: Workspace) -> KeysByFile:
        """The keys there are: of whole files, and of units that were encoded ahead."""
        names = workspace.units_keys
        whole = self._store.get(self._namespace, names)
        parts = self._ahead | {name: whole_file(record) for name, record in whole.items()}
        return {number: parts[name] for number, name in enumerate(names) if name in parts}

    def encode_ahead(
        self,
        workspace: Workspace,
        parts: KeysByFile,
        units: Iterable[int],
        progress: ProgressSink,
        cancellation: Cancellation,
    ) -> KeysByFile:
        """`parts` and the keys of further units, given by number. A file's are encoded together, without its others."""
        wanted = _by_file(workspace, units)
        sizes = {number: sum(unit.end_byte - unit.start_byte for unit in some) for number, (_, some) in wanted.items()}
        report = IndexReport(len(sizes), sum(sizes.values()), progress)
        texts = (
            FileText(workspace.files[number].local_path, workspace.files[number].texts(some))
            for number, (_, some) in wanted.items()
        )
        found = dict(parts)
        encoded = self._timed(self.drafter.encode(texts, cancellation))
        for (number, (local, _)), keys in zip(wanted.items(), encoded, strict=True):
            part = EncodedUnits(local, keys)
            found[number] = found[number].joined(part) if number in found else part
            self._ahead[workspace.files[number].units_key] = found[number]
            report.add(keys, sizes[number])
        return found

    def encode(
        self,
        files: Iterable[IndexedFile],
        count: int,
        size: int,
        progress: ProgressSink,
        cancellation: Cancellation,
        before: int = 0,
    ) -> None:
        """Encode and store `count` files of `size` bytes, while a workspace may still be read; `before` have keys."""
        self._store.check_writable()
        report = IndexReport(count, size, progress, before)
        planned: deque[PlannedFile] = deque()

        def texts() -> Iterator[FileText]:
            for file in files:
                one = self._planned(file)
                missing = one.missing()
                planned.append(one)
                yield from missing

        def store(one: PlannedFile) -> None:
            writer.put(one.file.units_key, record_of(one.whole()))
            if one.large:
                chunks.put(chunk_hash(one.file.local_path, ()), one.record())

        def finish() -> None:
            while planned and planned[0].complete:
                one = planned.popleft()
                background.add(partial(store, one))
                report.add(one.whole(), one.file.content.size)

        writers = self._store.writer(self._namespace), self._store.writer(self._chunks)
        with writers[0] as writer, writers[1] as chunks, BackgroundWriter(_MOST_WAITING) as background:
            for keys in self._timed(self._encoder().encode(texts(), cancellation)):
                finish()  # files all of whose chunks are as they were
                planned[0].add(keys)
                finish()
            finish()

    def _planned(self, file: IndexedFile) -> PlannedFile:
        """A file with the keys of those of its chunks that were in its last version."""
        planned = PlannedFile.of(file)
        if planned.large:
            key = chunk_hash(file.local_path, ())
            for record in self._store.get(self._chunks, [key]).values():
                name = record["keys"].tobytes().hex()
                for whole in self._store.get(self._namespace, [name]).values():
                    earlier = earlier_chunks(record, keys_of_record(whole))
                    planned.keys = [earlier.get(name) for name in planned.hashes]
        return planned

    def _timed(self, encoded: Iterator[FileKeys]) -> Iterator[FileKeys]:
        started, tokens = time.perf_counter(), 0
        for keys in encoded:
            tokens += int(keys.unit_tokens.sum())
            yield keys
        if tokens >= _ENOUGH_TOKENS:
            self.tokens_per_s = tokens / (time.perf_counter() - started)


def _by_file(workspace: Workspace, units: Iterable[int]) -> dict[int, tuple[NDArray[np.int32], list[Unit]]]:
    numbers = np.unique(np.fromiter(units, np.int64))
    files = workspace.files_of(numbers)
    found = {}
    for file in np.unique(files).tolist():
        local = (numbers[files == file] - workspace.unit_starts[file]).astype(np.int32)
        found[file] = local, [workspace.files[file].units[unit] for unit in local]
    return found
