"""Keeps the index up to date while nobody asks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from winnow_engine.core import Cancellation, Progress
from winnow_engine.errors import WinnowError
from winnow_engine.index.workspace import Workspace
from winnow_lsp.host.queue import Work
from winnow_lsp.server.render.work_done import WorkDone, new_token, work_done

if TYPE_CHECKING:
    from winnow_lsp.server.server import WinnowServer

_SETTLE_S = 1.0  # after the last change; a checkout changes many files, a user types
_MOST_S = 10.0  # after the first change, however many follow


class Indexer:
    """One client's index: what has changed, and the task that follows."""

    def __init__(self, server: WinnowServer) -> None:
        self._server = server
        self.stale: set[str] = set()
        self.runs: list[asyncio.Task[Any]] = []  # one works, more wait for their turn
        self.error: str | None = None
        self.progress = {"done": 0, "total": 0, "tokens": 0, "totalTokens": 0, "staleFiles": 0}
        self._task: asyncio.Task[None] | None = None
        self._quiet_at = 0.0

    def changed(self, uris: Iterable[str]) -> None:
        """Files have changed, on disk or in the editor."""
        found = set(uris)
        if not found:
            return
        self.stale |= found
        self._count_stale()
        self._quiet_at = self._server.loop.time() + _SETTLE_S
        if self._server.settings.index_automatic and (self._task is None or self._task.done()):
            self._begin()

    def start(self) -> None:
        """Index now, anew if that has begun; or stop where the user has turned it off."""
        if self._task is not None:
            self._task.cancel()
        if self._server.settings.index_automatic:
            self._quiet_at = 0.0
            self._begin()
        self._server.status.changed()

    @property
    def running(self) -> bool:
        """Whether the index is being brought up to date, or waits for its turn."""
        return bool(self.runs)

    @property
    def working(self) -> bool:
        """Whether it indexes or is about to. After changes it waits for a quiet moment first."""
        about_to = self._task is not None and not self._task.done() and not self.stale
        return self.running or about_to

    def fresh(self, seen: frozenset[str]) -> None:
        """A question has just indexed the workspace, with these changes in it."""
        self.stale -= seen
        self._count_stale()

    async def run(self, shown: WorkDone) -> None:
        """Index now, when no question runs. Raises what the engine raises."""
        engine, seen = self._server.engine, frozenset[str]()

        def prepare() -> Work[Workspace]:
            nonlocal seen
            seen = frozenset(self.stale)
            sources, assistant = self._server.sources(self._server.folders), engine.assistant()

            def work(cancellation: Cancellation) -> Workspace:
                return assistant.index(sources, report, cancellation)

            return work

        def report(progress: Progress) -> None:
            shown.report(progress)
            self._server.loop.call_soon_threadsafe(self._reported, progress)

        task = asyncio.current_task()
        assert task is not None
        self.runs.append(task)
        self.error = None
        try:
            workspace = await engine.queue.background(prepare)
            self.progress.update(done=len(workspace.files), total=len(workspace.files))
            self.fresh(seen)
        except WinnowError as error:
            self.error = str(error)
            raise
        finally:
            self.runs.remove(task)
            self._server.status.changed()

    async def stop(self) -> None:
        """End the work that nobody asked for; returns when it has ended."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    def _begin(self) -> None:
        self._task = asyncio.create_task(self._follow())
        self._task.add_done_callback(lambda _: self._server.status.changed())

    async def _follow(self) -> None:
        """Index until nothing has changed meanwhile: what changes all the time is indexed all the same."""
        while self._server.folders.roots:
            await self._index_when_quiet()
            if self.error or not self.stale:
                return

    async def _index_when_quiet(self) -> None:
        latest = self._server.loop.time() + _MOST_S
        while (wait := min(self._quiet_at, latest) - self._server.loop.time()) > 0:
            await asyncio.sleep(wait)
        token = await new_token(self._server)
        async with work_done(self._server, token, "Winnow") as shown:
            try:
                await self.run(shown)
            except WinnowError:
                return  # the status shows it; the next question says it again

    def _reported(self, progress: Progress) -> None:
        self.progress.update(
            done=progress.done, total=progress.total, tokens=progress.tokens, totalTokens=progress.total_tokens
        )
        self._server.status.changed()

    def _count_stale(self) -> None:
        self.progress["staleFiles"] = len(self.stale)
        self._server.status.changed()
