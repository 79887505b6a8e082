"""The questions of one client that are not answered yet."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from winnow_lsp.server.wire.errors import superseded


class Questions:
    """Tasks that work on a question each. Belongs to the event loop."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[Any]] = []
        self.in_order = asyncio.Lock()
        """Held while a question is worded, so that none overtakes another on its way to the queue."""
        self._superseded: set[asyncio.Task[Any]] = set()

    @contextmanager
    def unfinished(self, supersedes: bool) -> Iterator[None]:
        """Count the current task as a question during the block. If it `supersedes` the others, they are cancelled."""
        task = asyncio.current_task()
        assert task is not None
        if supersedes:
            self._superseded.update(self.tasks)
            self.cancel()
        self.tasks.append(task)
        try:
            yield
        except asyncio.CancelledError:
            if task in self._superseded:
                raise superseded() from None
            raise
        finally:
            self.tasks.remove(task)
            self._superseded.discard(task)

    def cancel(self) -> None:
        """Cancel them all."""
        for task in self.tasks:
            task.cancel()
