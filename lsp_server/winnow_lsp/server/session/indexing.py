"""Keeps the index up to date while nobody asks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

import psutil

from winnow_engine.core import Progress, ProgressSink
from winnow_engine.errors import WinnowError
from winnow_engine.index.workspace import Workspace
from winnow_engine.selection.ranking import SelectionStats
from winnow_lsp.host.engines import Changed, Engine
from winnow_lsp.host.queue import Work
from winnow_lsp.host.roots import is_everything
from winnow_lsp.server.render.progress_bars import ProgressBars
from winnow_lsp.server.render.status import IndexState
from winnow_lsp.server.session.editor import EditorState

_SETTLE_S = 1.0  # after the last change; a checkout changes many files, a user types
_MOST_S = 10.0  # after the first change, however many follow


def on_battery() -> bool:
    """True for a machine that is not on mains."""
    sensors = getattr(psutil, "sensors_battery", None)
    battery = sensors() if sensors else None
    return battery is not None and battery.power_plugged is False


class Indexer:
    """One client's index: its changes, and the task that follows them. Belongs to the event loop."""

    def __init__(
        self, editor: EditorState, engine: Callable[[], Awaitable[Engine]], bars: ProgressBars, changed: Changed
    ) -> None:
        """`changed` is called whenever `state` may have changed."""
        self._editor, self._engine, self._bars, self._changed = editor, engine, bars, changed
        self._loop = asyncio.get_running_loop()
        self.stale: set[str] = set()
        self.runs: list[asyncio.Task[Any]] = []  # one works, more wait for their turn
        self._asked = False
        self._error: str | None = None
        self._progress = Progress("index", 0, 0)
        self._task: asyncio.Task[None] | None = None
        self._quiet_at = 0.0

    @property
    def state(self) -> IndexState:
        """State of the index. After changes the indexer waits for a quiet moment before it counts as working."""
        about_to_run = self._task is not None and not self._task.done() and not self.stale
        return IndexState(self._progress, len(self.stale), bool(self.runs) or about_to_run, self._error)

    def changed(self, uris: Iterable[str]) -> None:
        """Note files that have changed, on disk or in the editor."""
        if found := set(uris):
            self.stale |= found
            self._changed()
            self._quiet_at = self._loop.time() + _SETTLE_S
            self._begin_unless_running()

    def start(self) -> None:
        """Index now, from the beginning if that was under way; only stop where nothing is to be indexed unasked."""
        if self._task is not None:
            self._task.cancel()
        self._quiet_at = 0.0
        self._begin()
        self._changed()

    def answered(self, seen: frozenset[str], selection: SelectionStats) -> None:
        """Note a question that saw these changes. The index is completed if it took a first look only."""
        self._asked = True
        if selection.complete:
            self.fresh(seen)
        else:
            self._quiet_at = 0.0
            self._begin_unless_running()

    def fresh(self, seen: frozenset[str]) -> None:
        """Note that the workspace has just been indexed with these changes in it."""
        self.stale -= seen
        self._changed()

    async def run(self, report: ProgressSink) -> None:
        """Index as soon as no question runs. Raises the engine's errors."""
        engine, seen = await self._engine(), frozenset[str]()

        def prepare() -> Work[Workspace]:
            nonlocal seen
            seen = frozenset(self.stale)
            sources, assistant = self._editor.sources(self._editor.folders), engine.assistant()
            return lambda cancellation: assistant.index(sources, reported, cancellation)

        def reported(progress: Progress) -> None:
            report(progress)
            self._loop.call_soon_threadsafe(self._reported, progress)

        task = asyncio.current_task()
        assert task is not None
        self.runs.append(task)
        self._error = None
        try:
            workspace = await engine.queue.background(prepare)
            self._progress = replace(self._progress, done=len(workspace.files), total=len(workspace.files))
            self.fresh(seen)
        except WinnowError as error:
            self._error = str(error)
            raise
        finally:
            self.runs.remove(task)
            self._changed()

    async def finish(self) -> None:
        """Wait until the work that nobody asked for has ended by itself."""
        if self._task is not None:
            await asyncio.wait((self._task,))

    async def stop(self) -> None:
        """End the work that nobody asked for, and wait for its end."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait((self._task,))

    def _begin_unless_running(self) -> None:
        if self._task is None or self._task.done():
            self._begin()

    def _begin(self) -> None:
        """Index soon, unless the settings or the battery forbid it, or the only folder is a home nobody asked about."""
        wanted, roots = self._editor.settings.index_automatic, self._editor.folders.roots
        in_use = self._asked or not all(map(is_everything, roots))
        if wanted == "always" or (wanted == "idle" and in_use and not on_battery()):
            self._task = asyncio.create_task(self._follow())
            self._task.add_done_callback(lambda _: self._changed())

    async def _follow(self) -> None:
        """Index until nothing has changed meanwhile; files that change all the time do not put it off for ever."""
        while self._editor.folders.roots:
            await self._index_when_quiet()
            if self._error or not self.stale:
                return

    async def _index_when_quiet(self) -> None:
        latest = self._loop.time() + _MOST_S
        while (wait := min(self._quiet_at, latest) - self._loop.time()) > 0:
            await asyncio.sleep(wait)
        token = await self._bars.new_token()
        async with self._bars.show(token) as bar:
            try:
                await self.run(bar.report)
            except WinnowError:
                return  # the status shows it; the next question says it again

    def _reported(self, progress: Progress) -> None:
        self._progress = progress
        self._changed()
