"""Writes snapshots in the background, so that nobody waits for the disk."""

from __future__ import annotations

import logging
import threading

from winnow_engine.errors import SnapshotError
from winnow_engine.targets.snapshots.files import Snapshot, Snapshots, StoredSnapshot

_log = logging.getLogger(__name__)


class SnapshotWriter:
    """Writes snapshots on a thread of its own, and holds those that are not on disk yet.

    It belongs to the target's owner thread and outlives sessions. A process that exits normally waits for it; one that
    is killed leaves a complete snapshot or none.
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
