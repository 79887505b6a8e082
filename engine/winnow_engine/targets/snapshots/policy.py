"""When a session's memory goes to disk and when it comes back: whenever that saves more time than it takes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import llama_cpp

from winnow_engine.config import TargetOptions
from winnow_engine.core import Prompt
from winnow_engine.errors import SnapshotError
from winnow_engine.llama.kv_cache import KvCache
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.patched_functions import build_note
from winnow_engine.targets.snapshots.files import Snapshot, Snapshots, StoredSnapshot, default_folder, made_by, refuse
from winnow_engine.targets.throughput import PrefillThroughput

# A prompt that takes less time to read again, for each 100 MB of its snapshot, is not worth the writing.
_LEAST_S = 1.0
_BYTES = 100e6
# Assumed until a snapshot was restored: a disk of the last decade, checksum included.
_GUESSED_BYTES_PER_S = 300e6
_log = logging.getLogger(__name__)


class SnapshotPolicy:
    """Decides what a session saves and restores. Failures are logged, and cost nothing but time.

    It belongs to the target's owner thread.
    """

    def __init__(
        self, snapshots: Snapshots, writer: SnapshotWriter, throughput: PrefillThroughput, *, keeps_states: bool
    ) -> None:
        """`keeps_states`: the model's memory cannot forget only a part, so that a snapshot must fit as a whole."""
        self._snapshots, self._writer, self._whole = snapshots, writer, keeps_states
        self._throughput = throughput
        throughput.recalled_s = snapshots.newest_token_s()
        self._bytes_per_s = _GUESSED_BYTES_PER_S
        self._head: Snapshot | None = None

    def exchange(self, cache: KvCache, prompt: Prompt) -> int:
        """Call before `prompt` is read: saves what the cache will forget, and restores what is on disk of `prompt`.

        Returns how many more of the prompt's tokens the cache holds.
        """
        held = cache.reusable(prompt)
        found = self._worth_loading(prompt[:-1], held, cache.context.n_ctx - 1)
        started = time.perf_counter()
        snapshot = self._loaded(found) if found else None
        load_s = time.perf_counter() - started
        self.save(cache, len(cache.tokens) - held)
        if found is None or snapshot is None:
            return 0
        started = time.perf_counter()
        if not cache.restore(snapshot.tokens, snapshot.state):
            refuse(found.path, "llama.cpp does not take it")
            return 0
        if found.size:
            self._bytes_per_s = found.size / (load_s + time.perf_counter() - started)
        return found.shared - held

    def available(self, prompt: Prompt, held: int, room: int) -> tuple[int, float, int]:
        """How many tokens of `prompt` need not be read, in how many seconds they are in memory, and their snapshot's.

        Memory holds `held` of them and may have room for `room`.
        """
        found = self._worth_loading(prompt[:-1], held, room)
        return (found.shared, found.size / self._bytes_per_s, len(found.tokens)) if found else (held, 0.0, 0)

    def save(self, cache: KvCache, forgotten: int) -> None:
        """Have a cache written before it forgets its last `forgotten` tokens, if they take long to read and are new."""
        if self._worth_saving(cache, forgotten):
            self._writer.save(self._snapshots, self._snapshot(cache))

    def copy_head(self, cache: KvCache) -> None:
        """Copy a cache that holds exactly the head of a prompt, if it takes long to read and is new."""
        if self._worth_saving(cache, len(cache.tokens)):
            self._head = replace(self._snapshot(cache), head=True)

    def write_head(self) -> None:
        """Have the head written that was copied, if any. Call this when nobody waits for a first token any more."""
        if self._head is not None:
            head, self._head = replace(self._head, token_s=self._token_s), None
            self._writer.save(self._snapshots, head)

    @property
    def _token_s(self) -> float:
        return self._throughput.token_s or self._throughput.assumed_s

    def _snapshot(self, cache: KvCache) -> Snapshot:
        return Snapshot(cache.tokens, cache.context.state(), self._token_s)

    def _worth_saving(self, cache: KvCache, forgotten: int) -> bool:
        if not forgotten:
            return False
        kept = self._find(cache.tokens, cache.context.n_ctx - 1)
        new = len(cache.tokens) - (kept.shared if kept else 0)
        size = cache.context.state_bytes()
        slow = min(new, forgotten) * self._token_s >= _LEAST_S * max(1.0, size / _BYTES)
        return slow and size <= self._snapshots.max_bytes

    def _worth_loading(self, prompt: Prompt, held: int, room: int) -> StoredSnapshot | None:
        """The snapshot of at most `room` tokens that saves most reading, if loading it takes less time."""

        def saved_s(found: StoredSnapshot) -> float:
            token_s = self._throughput.token_s or found.token_s
            return (found.shared - held) * token_s - found.size / self._bytes_per_s

        found = self._find(prompt, room, saved_s)
        return found if found and saved_s(found) > 0 else None

    def _find(
        self, tokens: Prompt, room: int, worth: Callable[[StoredSnapshot], float] = attrgetter("shared")
    ) -> StoredSnapshot | None:
        unsaved = self._writer.unsaved(self._snapshots)  # before the disk: what leaves the writer is there by then
        return self._snapshots.find(tokens, whole=self._whole, room=room, unsaved=unsaved, worth=worth)

    def _loaded(self, found: StoredSnapshot) -> Snapshot | None:
        if found.unsaved is not None:
            return found.unsaved
        try:
            return self._snapshots.load(found)
        except SnapshotError as error:
            _log.warning("%s", error)
            return None


def open_policy(
    path: Path, options: TargetOptions, model: LlamaModel, writer: SnapshotWriter, throughput: PrefillThroughput
) -> SnapshotPolicy | None:
    """The snapshot policy of the model at `path`, or None if snapshots are off."""
    if options.snapshot_bytes is None:
        return None
    snapshots = snapshots_of(path, options.kv_type, options.snapshot_bytes)
    return SnapshotPolicy(snapshots, writer, throughput, keeps_states=model.keeps_states)


def snapshots_of(model: Path, kv_type: str, max_bytes: int) -> Snapshots:
    """The snapshots that this build of llama.cpp takes of a model's file, at most `max_bytes` of all models."""
    engine = "\n".join([llama_cpp.__version__, *build_note()])
    return Snapshots(default_folder(), max_bytes, made_by(model, kv_type, engine))


class SnapshotWriter:
    """Writes snapshots on a thread of its own, and holds those that are not on disk yet.

    It belongs to the target's owner thread. A process that exits normally waits for it; one that is killed leaves a
    complete snapshot or none.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._jobs: list[tuple[Snapshots, Snapshot]] = []  # the one being written, and at most one that waits

    def save(self, snapshots: Snapshots, snapshot: Snapshot) -> None:
        """Have `snapshots` save a snapshot soon. Failures are logged.

        If the disk does not keep up, the newest snapshot replaces the one that waits.
        """
        with self._changed:
            del self._jobs[1:]
            self._jobs.append((snapshots, snapshot))
            if len(self._jobs) == 1:
                self._write_next()

    def unsaved(self, snapshots: Snapshots) -> list[StoredSnapshot]:
        """The snapshots of the same model that are not on disk yet."""
        with self._changed:
            jobs = list(self._jobs)
        return [snapshots.unsaved(snapshot) for by, snapshot in jobs if by.made_by == snapshots.made_by]

    def finish(self) -> None:
        """Wait until everything is on disk."""
        with self._changed:
            self._changed.wait_for(lambda: not self._jobs)

    def _write_next(self) -> None:
        # Not a daemon, so that the process waits for it.
        thread = threading.Thread(target=self._write, name="winnow-snapshot", args=self._jobs[0])
        try:
            thread.start()
        except RuntimeError:  # Python starts none while it exits
            self._write(*self._jobs[0])

    def _write(self, snapshots: Snapshots, snapshot: Snapshot) -> None:
        try:
            snapshots.save(snapshot)
        except SnapshotError as error:
            _log.warning("%s", error)
        finally:
            with self._changed:
                del self._jobs[0]
                if self._jobs:
                    self._write_next()
                self._changed.notify_all()
