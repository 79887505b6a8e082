"""An answer in progress, for as long as its client waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

from starlette.requests import ClientDisconnect, Request

from winnow_engine.chat.turn import TurnPiece, TurnPieceSink
from winnow_lsp.http.fields import ApiError
from winnow_lsp.http.guard import gone

T = TypeVar("T")


class Answering(Generic[T]):
    """One answer in progress, which `begin` starts. It is cancelled when its client disconnects, and by `stop`."""

    def __init__(self, begin: Callable[[TurnPieceSink], Coroutine[Any, Any, T]], request: Request) -> None:
        self._loop, self._pieces = asyncio.get_running_loop(), asyncio.Queue[TurnPiece | None]()
        self._first = self._loop.create_future()  # True once there is a piece, False for an answer without any
        self._reason: Exception = ClientDisconnect()  # why the work is cancelled
        self._work = asyncio.ensure_future(begin(self._add))
        self._work.add_done_callback(self._end)
        self._watch = asyncio.ensure_future(gone(request))
        self._watch.add_done_callback(lambda _: self._work.cancel())

    def _add(self, piece: TurnPiece) -> None:
        self._loop.call_soon_threadsafe(self._put, piece)

    def _put(self, piece: TurnPiece | None) -> None:
        self._pieces.put_nowait(piece)
        if not self._first.done():
            self._first.set_result(piece is not None)

    def stop(self) -> bool:
        """Cancel it, because the server stops. False if it has ended."""
        self._reason = ApiError(503, "the server is stopping: ask again later", code="stopping")
        return self._work.cancel()

    def _end(self, work: asyncio.Future[T]) -> None:
        if not work.cancelled():
            work.exception()  # retrieved, lest asyncio log it where nobody waits for it any more
        self._put(None)

    async def begun(self, seconds: float) -> None:
        """Wait for the first piece, for a while. Raises what ended the answer before it, or ClientDisconnect."""
        done, _ = await asyncio.wait((self._first,), timeout=seconds)
        if done and not self._first.result():
            await self.completion()

    async def piece(self, seconds: float) -> TurnPiece | None:
        """The next piece, or None at the end. Raises TimeoutError if there is none yet."""
        async with asyncio.timeout(seconds):
            return await self._pieces.get()

    async def completion(self) -> T:
        """Wait for the whole answer. Raises what ended it; ClientDisconnect if the client left."""
        try:
            return await asyncio.shield(self._work)
        except asyncio.CancelledError:
            if self._work.cancelled():
                raise self._reason from None
            raise
        finally:
            await self.close()

    async def close(self) -> None:
        """Cancel what is still running."""
        self._watch.cancel()
        self._work.cancel()
        await asyncio.wait((self._work, self._watch))
