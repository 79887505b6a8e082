"""Status bars: `winnow/status`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import psutil

from winnow_engine.core import Progress, counted
from winnow_lsp.host.engines import Engine, ModelState
from winnow_lsp.host.queue import Queue
from winnow_lsp.server.render.deltas import Notify, Throttle
from winnow_lsp.server.wire.messages import STATUS

_INTERVAL_S = 0.1


@dataclass(frozen=True, slots=True)
class IndexState:
    """State of the index; `working` while it is being brought up to date or is about to be."""

    progress: Progress
    stale_files: int
    working: bool
    error: str | None


class Status:
    """Tells one client when something it may want to show has changed."""

    def __init__(self, read: Callable[[], dict[str, Any]], notify: Notify) -> None:
        """`read` returns the status as it is now: `status_json`, or {} where there is nothing to show yet."""
        self._read, self._notify = read, notify
        self._closed = False
        self._last: dict[str, Any] = {}
        self._throttle = Throttle(self._send, _INTERVAL_S)

    def changed(self) -> None:
        """Send the status soon, if it differs from the one sent last."""
        if not self._closed:
            self._throttle.want()

    def close(self) -> None:
        """Send nothing more."""
        self._closed = True
        self._throttle.flush()

    def _send(self) -> None:
        if self._closed:
            return
        document = self._read()
        if document and document != self._last:
            self._last = document
            self._notify(STATUS, document | {"memoryBytes": psutil.Process().memory_info().rss})


def status_json(engine: Engine, index: IndexState, doing: str) -> dict[str, Any]:
    """The parameters of `winnow/status`, without the memory. `doing` says what this client's question waits for."""
    drafter, target = engine.drafter, engine.target  # read once: models are opened on other threads
    state, message = _summary(drafter, target, engine.queue, index, doing)
    progress, queue = index.progress, engine.queue
    return {
        "state": state,
        "message": message,
        "index": {
            "done": progress.done,
            "total": progress.total,
            "tokens": progress.tokens,
            "totalTokens": progress.total_tokens,
            "staleFiles": index.stale_files,
        },
        "models": {"drafter": _model_json(drafter), "target": _model_json(target)},
        "questions": {"running": queue.running, "waiting": queue.waiting},
    }


def _summary(drafter: ModelState, target: ModelState, queue: Queue, index: IndexState, doing: str) -> tuple[str, str]:
    """The state in a word and in a line. What the user must act on comes first."""
    loading = "loading" in (drafter.state, target.state)
    if failed := drafter.error or target.error:
        return "error", failed
    if queue.running:
        waiting = f", {queue.waiting} waiting" if queue.waiting else ""
        return "answering", f"{doing or 'answering'}{waiting}"
    if index.error and not loading:  # the error may be that of a model which is being opened again
        return "error", index.error
    if index.working:
        done, total = index.progress.done, index.progress.total
        return "indexing", f"indexing {done:,} of {counted(total, 'file')}" if done < total else "reading the workspace"
    if loading:
        return "loading", "loading models"
    if index.stale_files:
        return "stale", f"{counted(index.stale_files, 'file')} changed"
    return "ready", f"ready; answers come from {target.host}" if target.host else "ready"


def _model_json(model: ModelState) -> dict[str, str]:
    return {key: value for key, value in asdict(model).items() if value}
