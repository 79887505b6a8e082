"""Snapshots of a target's KV memory on disk, found by the tokens that they share with a prompt.

A snapshot is one safetensors file: token ids, the state that llama.cpp made of them, and a checksum over both. Its name
identifies the model and the tokens. Complete files are renamed into place, and any process may delete any file at any
time, so that no lock is needed. They contain the user's code in another form, so only the user may read them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from winnow_engine.core import Prompt
from winnow_engine.errors import SnapshotError
from winnow_engine.llama.kv_cache import common_prefix
from winnow_engine.storage.folders import delete, delete_abandoned, files_in, temporary, used_last_first
from winnow_engine.storage.store import default_path

_SUFFIX = ".safetensors"
_LEFT_FREE = 1 << 30  # bytes of disk that are left to the user, whatever the limit is
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The memory of a context behind `tokens`, as llama.cpp wrote it. Each token took `token_s` seconds to read.

    A `head` begins many conversations, and stays when one of them is saved.
    """

    tokens: Prompt
    state: NDArray[np.uint8]
    token_s: float
    head: bool = False


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot of `size` bytes on disk. The first `shared` of its `tokens` begin the prompt it was found for.

    One that is not on disk yet has itself in `unsaved`, and a size of 0.
    """

    path: Path
    tokens: Prompt
    shared: int
    token_s: float
    size: int
    head: bool = False
    unsaved: Snapshot | None = None


class Snapshots:
    """One model's snapshots, in a folder that all models share. Safe to use beside other processes."""

    def __init__(self, folder: Path, max_bytes: int, made_by: str) -> None:
        """`made_by` identifies the model and all that a snapshot depends on, and begins its file's name."""
        self.max_bytes, self.made_by = max_bytes, made_by
        self._folder = folder
        self._headers: dict[str, StoredSnapshot] = {}
        self._trim()

    def find(
        self,
        prompt: Prompt,
        *,
        whole: bool,
        room: int | None = None,
        unsaved: Sequence[StoredSnapshot] = (),
        worth: Callable[[StoredSnapshot], float] = attrgetter("shared"),
    ) -> StoredSnapshot | None:
        """The snapshot of most `worth` that shares the beginning of `prompt`, on disk or in `unsaved`.

        With `whole`, `prompt` must begin with all of it. With `room`, it must have at most that many tokens.
        """
        fitting = (found for found in (*unsaved, *self._mine()) if room is None or len(found.tokens) <= room)
        shared = [replace(found, shared=common_prefix(found.tokens, prompt)) for found in fitting]
        usable = [found for found in shared if found.shared and (not whole or found.shared == len(found.tokens))]
        return max(usable, key=worth, default=None)

    def load(self, found: StoredSnapshot) -> Snapshot:
        """Read a snapshot and mark it as used now. Raises SnapshotError, and deletes the file, if it is damaged."""
        try:
            with safe_open(found.path, "np") as file:
                state = file.get_tensor("state")
                snapshot, checksum = Snapshot(found.tokens, state, found.token_s), file.metadata()["checksum"]
            with suppress(OSError):  # a cache that is read-only
                os.utime(found.path)
        except (OSError, SafetensorError, KeyError, TypeError) as error:
            delete(found.path)
            raise SnapshotError(f"the snapshot {found.path} cannot be read: {error}") from error
        if checksum != self._checksum(snapshot):
            delete(found.path)
            raise SnapshotError(f"the snapshot {found.path} is damaged: its checksum is wrong")
        return snapshot

    def save(self, snapshot: Snapshot) -> None:
        """Write a snapshot. Deletes those of its beginnings, but no heads, and the least recent beyond `max_bytes`.

        Raises SnapshotError if it cannot be written.
        """
        metadata = {"token_s": repr(snapshot.token_s), "checksum": self._checksum(snapshot)}
        metadata |= {"head": "yes"} if snapshot.head else {}
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if shutil.disk_usage(self._folder).free < snapshot.state.nbytes + _LEFT_FREE:
                raise OSError("the disk is almost full")
            with temporary(self._folder) as path:
                save_file({"tokens": snapshot.tokens, "state": snapshot.state}, path, metadata)
                path.chmod(0o600)
                path.replace(self._path(snapshot.tokens))
        except (OSError, SafetensorError) as error:
            raise SnapshotError(f"no snapshot can be kept in {self._folder}: {error}") from error
        for found in list(self._mine()):
            shared = common_prefix(found.tokens, snapshot.tokens)
            if not found.head and shared == len(found.tokens) < len(snapshot.tokens):
                delete(found.path)
        self._trim()

    def newest_token_s(self) -> float | None:
        """Seconds that a token took to read, in the snapshot used last, or None if there is none."""
        used = {path: at for path, at, _ in files_in(self._folder)}
        newest = max(self._mine(), key=lambda found: used.get(found.path, 0.0), default=None)
        return newest.token_s if newest else None

    def unsaved(self, snapshot: Snapshot) -> StoredSnapshot:
        """A snapshot that is not on disk yet, in the form of a stored one."""
        path, tokens = self._path(snapshot.tokens), snapshot.tokens
        return StoredSnapshot(path, tokens, len(tokens), snapshot.token_s, 0, snapshot.head, snapshot)

    def _mine(self) -> Iterator[StoredSnapshot]:
        """This model's snapshots, with all of their tokens as `shared`."""
        for path, *_ in files_in(self._folder):
            if not path.match(f"{self.made_by}-*{_SUFFIX}"):
                continue
            header = self._headers.get(path.name) or self._header(path)
            if header is not None:
                self._headers[path.name] = header
                yield header

    def _header(self, path: Path) -> StoredSnapshot | None:
        """A snapshot without its state, or None if the file is gone or damaged. A damaged file is deleted."""
        try:
            with safe_open(path, "np") as file:
                tokens, metadata = file.get_tensor("tokens"), file.metadata()
            token_s = float(metadata["token_s"])
            if path.name != self._name(tokens):
                raise ValueError("its tokens are not those of its name")
            if not 0 < token_s < float("inf"):
                raise ValueError(f"no token takes {token_s} seconds to read")
            return StoredSnapshot(path, tokens, len(tokens), token_s, path.stat().st_size, "head" in metadata)
        except FileNotFoundError:  # another process has deleted it
            return None
        except (OSError, SafetensorError, KeyError, TypeError, ValueError) as error:
            refuse(path, str(error))
            return None

    def _trim(self) -> None:
        """Delete what was used longest ago, beyond `max_bytes`, and what killed processes left behind."""
        delete_abandoned(self._folder)
        total = 0
        for path, _, size in used_last_first(self._folder):
            if path.suffix == _SUFFIX:
                total += size
                if total > self.max_bytes:
                    delete(path)

    def _path(self, tokens: Prompt) -> Path:
        return self._folder / self._name(tokens)

    def _name(self, tokens: NDArray[Any]) -> str:
        return f"{self.made_by}-{hashlib.sha256(tokens.tobytes()).hexdigest()[:32]}{_SUFFIX}"

    def _checksum(self, snapshot: Snapshot) -> str:
        described = json.dumps([self.made_by, snapshot.token_s, snapshot.tokens.tolist()])
        digest = hashlib.sha256(described.encode())
        digest.update(snapshot.state.data)
        return digest.hexdigest()


def made_by(model: Path, kv_type: str, engine: str) -> str:
    """A digest of a model's file, the type of its keys and values, and the engine's build.

    Of the file it reads size, time and 64 KiB at 64 places, because other weights differ everywhere.
    """
    stat = model.stat()
    digest = hashlib.sha256(json.dumps([stat.st_size, stat.st_mtime_ns, kv_type, engine]).encode())
    with model.open("rb") as file:
        for place in range(64):
            file.seek(place * stat.st_size // 64)
            digest.update(file.read(1 << 16))
    return digest.hexdigest()[:16]


def default_folder() -> Path:
    """The folder `snapshots` beside the index."""
    return default_path().parent / "snapshots"


def used_bytes(folder: Path) -> tuple[int, int]:
    """The number of snapshots in a folder, and their bytes."""
    sizes = [size for path, _, size in files_in(folder) if path.suffix == _SUFFIX]
    return len(sizes), sum(sizes)


def refuse(path: Path, reason: str) -> None:
    """Delete a snapshot that cannot be used, and log why."""
    _log.warning("the snapshot %s is not sound and is deleted: %s", path, reason)
    delete(path)
