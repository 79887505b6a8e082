"""Keeps the index up to date while nobody asks."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING

from winnow_engine.core import Cancellation, Progress
from winnow_engine.errors import WinnowError
from winnow_engine.index.workspace import Workspace
from winnow_lsp.server.queue import Work
from winnow_lsp.server.work_done import WorkDone, new_token, work_done

if TYPE_CHECKING:
    from winnow_lsp.server.server import WinnowServer

_SETTLE_S = 1.0  # after the last change; a checkout changes many files, a user types


class Indexer:
    """One client's index: what has changed, and the task that follows."""

    def __init__(self, server: WinnowServer) -> None:
        self._server = server
        self.stale: set[str] = set()
        self.running = 0  # one works, more wait for their turn
        self.error: str | None = None
        self.progress = {"done": 0, "total": 0, "tokens": 0, "totalTokens": 0, "staleFiles": 0}
        self._task: asyncio.Task[None] | None = None

    def changed(self, uris: Iterable[str]) -> None:
        """Files have changed, on disk or in the editor."""
        self.stale.update(uris)
        self._count_stale()
        if self.stale:
            self.start(_SETTLE_S)

    def start(self, delay_s: float = 0.0) -> None:
        """Index after a while, anew if that has begun, unless the user has turned it off."""
        if self._server.settings.index_automatic:
            self._restart(self._after(delay_s))

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
            sources, assistant = self._server.sources(), engine.assistant()

            def work(cancellation: Cancellation) -> Workspace:
                return assistant.index(sources, report, cancellation)

            return work

        def report(progress: Progress) -> None:
            shown.report(progress)
            self._server.loop.call_soon_threadsafe(self._reported, progress)

        self.running, self.error = self.running + 1, None
        try:
            workspace = await engine.queue.background(prepare)
            self.progress.update(done=len(workspace.files), total=len(workspace.files))
            self.fresh(seen)
        except WinnowError as error:
            self.error = str(error)
            raise
        finally:
            self.running -= 1
            self._server.status.changed()

    async def stop(self) -> None:
        """End the work; returns when it has ended."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    def _restart(self, work: Coroutine[None, None, None]) -> None:
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.create_task(work)

    async def _after(self, delay_s: float) -> None:
        await asyncio.sleep(delay_s)
        if not self._server.folders.roots:
            return
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
