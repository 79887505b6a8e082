"""Schedules work on the models: questions in a fair order, one at a time or a few, background work in between.

Questions are of two kinds, and each kind takes turns of its own: those that need the target, which take long, and
searches, which do not.

Askers take turns: of each, one question a round, in order of arrival. So whoever asks a lot at once keeps nobody else
waiting, and one asker alone is answered in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from winnow_engine.core import Cancellation
from winnow_engine.errors import CancelledError

T = TypeVar("T")

Work = Callable[[Cancellation], T]
"""Runs on a thread of the queue's. It polls the flag, and raises the engine's CancelledError once it is set."""

Prepare = Callable[[], Work[T]]
"""Called on the event loop when the work's turn has come, to make it from the documents and settings of that time."""

Moved = Callable[[int], None]
"""Gets how many questions this one waits for, at once and whenever that changes; 0 means that it runs."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Whose question it is. With `in_turn` one of its questions runs at a time, as where each goes on from the last."""

    name: Hashable = None
    in_turn: bool = False


ANYBODY = Asker()


@dataclass(eq=False)
class _Ticket:
    moved: Moved
    asker: Asker
    needs_target: bool
    round: int
    first: asyncio.Event = field(default_factory=asyncio.Event)
    before: int = -1


class Queue:
    """The threads that do all work with one pair of models. Its methods belong to the event loop."""

    def __init__(self, changed: Callable[[], None], width: int = 1) -> None:
        """`changed` is called whenever a question is added or done. Up to `width` of each kind run at once."""
        self._changed, self._width = changed, width
        self._threads = ThreadPoolExecutor(width, "winnow-engine")
        self._beside = ThreadPoolExecutor(width, "winnow-search")  # for what needs no target
        self._tickets: list[_Ticket] = []
        self._round = 0  # of the question that began last
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._background_turn = asyncio.Lock()
        self._background = Cancellation()

    @property
    def running(self) -> int:
        """Number of questions being worked on."""
        return sum(ticket.first.is_set() for ticket in self._tickets)

    @property
    def waiting(self) -> int:
        """Number of questions that wait for one of these to end."""
        return len(self._tickets) - self.running

    @property
    def busy(self) -> bool:
        """True while a question or background work is under way."""
        return bool(self._tickets) or self._background_turn.locked()

    async def question(
        self, prepare: Prepare[T], moved: Moved, asker: Asker = ANYBODY, *, needs_target: bool = True
    ) -> T:
        """Run what `prepare` makes in its turn, before background work. Cancelling the task waits for its end."""
        # The round after that of the asker's last question, or the one under way.
        turn = max([self._round, *(one.round + 1 for one in self._tickets if one.asker == asker)])
        ticket = _Ticket(moved, asker, needs_target, turn)
        self._tickets.append(ticket)
        self._quiet.clear()
        self._background.cancel()
        try:
            self._advance()
            await ticket.first.wait()
            return await self._run(prepare(), Cancellation(), self._threads if needs_target else self._beside)
        finally:
            self._tickets.remove(ticket)
            self._advance()

    async def background(self, prepare: Prepare[T]) -> T:
        """Do what `prepare` makes while nobody asks; a question stops it, and it is made anew afterwards."""
        async with self._background_turn:
            while True:
                while self._tickets:
                    await self._quiet.wait()
                self._background = Cancellation()
                try:
                    return await self._run(prepare(), self._background, self._threads)
                except CancelledError:
                    continue

    def restart_background(self) -> None:
        """Stop background work; it is prepared again, from what is true by then."""
        self._background.cancel()

    def close(self) -> None:
        """End the threads once they are idle; nothing may be asked any more."""
        self._threads.shutdown(wait=False)
        self._beside.shutdown(wait=False)

    def _advance(self) -> None:
        ordered = sorted(self._tickets, key=lambda ticket: (not ticket.first.is_set(), ticket.round))
        lanes: dict[bool, list[_Ticket]] = {True: [], False: []}
        for number, ticket in enumerate(ordered):
            lane = lanes[ticket.needs_target]
            own = [one for one in ordered[:number] if ticket.asker.in_turn and one.asker == ticket.asker]
            full = sum(one.first.is_set() for one in lane) >= self._width
            runs = ticket.first.is_set() or not (full or own)
            before = 0 if runs else max(len(lane) - self._width + 1, len(own))
            lane += [ticket] if set(own) <= set(lane) else []  # none that waits for a question in the other lane
            if before != ticket.before:
                ticket.before = before
                ticket.moved(before)
            if not before:
                ticket.first.set()
                self._round = max(self._round, ticket.round)
        if not self._tickets:
            self._quiet.set()
        self._changed()

    async def _run(self, work: Work[T], cancellation: Cancellation, threads: Executor) -> T:
        doing = asyncio.get_running_loop().run_in_executor(threads, work, cancellation)
        try:
            return await asyncio.shield(doing)
        except asyncio.CancelledError:
            cancellation.cancel()
            await _ended(doing)
            raise


async def _ended(doing: asyncio.Future[T]) -> None:
    """Wait until it has ended, however often this task is cancelled meanwhile."""
    while not doing.done():
        try:
            await asyncio.wait((doing,))
        except asyncio.CancelledError:
            continue
    doing.exception()  # seen: it is the engine's CancelledError, or came too late to matter
