"""What a status bar shows: `winnow/status`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psutil

from winnow_lsp.host.engines import ModelState
from winnow_lsp.server.render.throttle import Throttle
from winnow_lsp.server.wire.messages import STATUS

if TYPE_CHECKING:
    from winnow_lsp.server.server import WinnowServer

_INTERVAL_S = 0.1


class Status:
    """Tells one client when something it may want to show has changed."""

    def __init__(self, server: WinnowServer) -> None:
        self._server = server
        self._last: dict[str, Any] = {}
        self._throttle = Throttle(self._send, _INTERVAL_S)

    def changed(self) -> None:
        """Something did change."""
        if not self._server.left:
            self._throttle.want()

    def close(self) -> None:
        """Send nothing more."""
        self._throttle.flush()

    def _send(self) -> None:
        if self._server.left:
            return
        document = self._document()
        if document != self._last:
            self._last = document
            self._server.protocol.notify(STATUS, document | {"memoryBytes": psutil.Process().memory_info().rss})

    def _document(self) -> dict[str, Any]:
        server = self._server
        drafter, target = server.engine.drafter, server.engine.target
        state, message = self._summary(drafter, target)
        return {
            "state": state,
            "message": message,
            "index": dict(server.indexer.progress),
            "models": {"drafter": _json(drafter), "target": _json(target)},
            "questions": {"running": server.engine.queue.running, "waiting": server.engine.queue.waiting},
        }

    def _summary(self, drafter: ModelState, target: ModelState) -> tuple[str, str]:
        """The state in a word and in a line; what the user must act on comes first."""
        indexer, queue = self._server.indexer, self._server.engine.queue
        if failed := drafter.error or target.error:
            return "error", failed
        if queue.running:
            waiting = f", {queue.waiting} waiting" if queue.waiting else ""
            return "answering", f"answering{waiting}"
        if indexer.error:
            return "error", indexer.error
        if indexer.working:
            done, total = indexer.progress["done"], indexer.progress["total"]
            return "indexing", f"indexing {done:,} of {total:,} files" if done < total else "reading the workspace"
        if "loading" in (drafter.state, target.state):
            return "loading", "loading models"
        if indexer.stale:
            return "stale", f"{len(indexer.stale):,} files changed"
        return "ready", f"ready; answers come from {target.host}" if target.host else "ready"


def _json(model: ModelState) -> dict[str, str]:
    document = {"name": model.name, "state": model.state, "error": model.error, "host": model.host}
    return {key: value for key, value in document.items() if value}
