"""A service that says what a test wants, behind the API on a real socket in this process."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import httpx
import numpy as np
import uvicorn

from winnow_engine.chat.complete import Completion
from winnow_engine.chat.turn import ThoughtDelta, TurnPiece, TurnPieceSink
from winnow_engine.core import Finish, Thought
from winnow_engine.prompting.tools import ToolCall
from winnow_engine.targets.base import Generation
from winnow_lsp.host.engines import ModelState
from winnow_lsp.http.app import app, stop_answers
from winnow_lsp.http.guard import Guard, listening_socket, web_server
from winnow_lsp.http.requests import ChatRequest, ServedModel

PATIENCE_S = 120
CHAT = "/v1/chat/completions"
HELLO: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello?"}]}
READY = ModelState("m", "ready")
MODEL = ServedModel("m", ("other", "claude-*"))


class Fake:
    """Says its pieces after `waits_s`; `error` comes after them, `hangs` waits until it is cancelled."""

    model = MODEL
    encoder = ServedModel("e", ("m",))
    context_limit = 4096
    finish: Finish = "eos"
    calls: tuple[ToolCall, ...] = ()
    server: uvicorn.Server

    def __init__(
        self, *pieces: TurnPiece, error: Exception | None = None, hangs: bool = False, waits_s: float = 0
    ) -> None:
        self.pieces, self.error, self.hangs, self.waits_s = pieces, error, hangs, waits_s
        self.states = (READY, READY)
        self.asked, self.cancelled, self.closed = threading.Event(), threading.Event(), False
        self.begun = 0

    async def complete(self, request: ChatRequest, on_piece: TurnPieceSink) -> Completion:
        self.asked.set()
        self.begun += 1
        try:
            if self.waits_s:
                await asyncio.sleep(self.waits_s)
            for piece in self.pieces:
                await asyncio.to_thread(on_piece, piece)
            await self._hang()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        if self.error:
            raise self.error
        text = "".join(piece for piece in self.pieces if isinstance(piece, str))
        thought = "".join(piece.text for piece in self.pieces if isinstance(piece, ThoughtDelta))
        generation = Generation(text, self.finish, 7, 2, 0.0, 0.0, len(self.pieces), 0.0)
        if thought:
            generation = replace(generation, thought=Thought(thought, 1.5, 2))
        return Completion(generation, 30, self.calls)

    async def count(self, request: ChatRequest) -> int:
        self.asked.set()
        try:
            await self._hang()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return sum(len(message.content.split()) for message in request.asked.messages)

    async def embed(self, texts: Sequence[str], user: str | None) -> tuple[Any, int]:
        return np.array([[3.0, 4.0, 0.0, len(text)] for text in texts], np.float32), 5

    async def _hang(self) -> None:
        if self.hangs:
            await asyncio.sleep(3600)

    async def close(self) -> None:
        self.closed = True


@asynccontextmanager
async def serving(
    fake: Fake, token: str | None = None, origins: tuple[str, ...] = ()
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server that answers with `fake`."""
    listening = listening_socket("127.0.0.1", 0)
    application = app(lambda: fake, Guard(token, origins=origins))
    server = fake.server = web_server(application, partial(stop_answers, application))
    task = asyncio.create_task(server._serve([listening]))
    while not server.started:
        await asyncio.sleep(0.01)
    port = listening.getsockname()[1]
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            yield client
    finally:
        server.should_exit = True
        await task
    assert fake.closed


def events(text: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    return [line if line == "[DONE]" else json.loads(line) for line in lines]
