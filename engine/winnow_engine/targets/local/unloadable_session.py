"""A session that can be parked: it gives its memory back, and loads the model again when it is next needed."""

from __future__ import annotations

from pathlib import Path

from winnow_engine.config import TargetOptions
from winnow_engine.targets.local.session import Session
from winnow_engine.targets.snapshots.writer import SnapshotWriter
from winnow_engine.targets.throughput import PrefillThroughput


class UnloadableSession:
    """Holds a target's session, which only the owner thread may touch. Loading again reads from the page cache."""

    def __init__(self, path: Path, options: TargetOptions) -> None:
        """Load `path` as `Session` does, and unload it at once if it is placed on demand."""
        self._path, self._options = path, options
        self._writer, self.throughput = SnapshotWriter(), PrefillThroughput()
        self._session: Session | None = Session(path, options, self._writer, self.throughput)
        self.context_limit = self._session.context_limit
        self.settle()

    def session(self) -> Session:
        """The session, loaded if necessary. Raises ModelNotFoundError or ModelDamagedError if its file has changed."""
        if self._session is None:
            self._session = Session(self._path, self._options, self._writer, self.throughput)
        return self._session

    def settle(self) -> None:
        """Unload a model that is placed on demand. Call this after each answer."""
        if self._options.place == "on-demand":
            self.unload()

    def unload(self) -> None:
        """Free the context and the model. A snapshot may still be on its way to disk."""
        if self._session is not None:
            session, self._session = self._session, None
            session.close()

    def close(self) -> None:
        """Unload for good, and wait until all snapshots are on disk."""
        self.unload()
        self._writer.finish()
