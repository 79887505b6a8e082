"""Serves the API on a socket with one pair of models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from winnow_cuda.shapes import Float32
from winnow_engine.chat.complete import Completion, complete, prompt_tokens
from winnow_engine.chat.fitting import SentConversations
from winnow_engine.chat.turn import TurnPieceSink
from winnow_engine.config import ModelConfig
from winnow_engine.core import Cancellation
from winnow_engine.storage.store import Store
from winnow_engine.targets.remote.address import is_url, parse
from winnow_lsp.host.engines import Engine, ModelState
from winnow_lsp.host.queue import Asker, Work
from winnow_lsp.http.app import app
from winnow_lsp.http.guard import Guard
from winnow_lsp.http.listening import listening_socket, web_server
from winnow_lsp.http.requests import ChatRequest, ServedModel


class EngineService:
    """Answers requests with an engine: many at once if the target is a server, else one after the other.

    Belongs to the event loop.
    """

    def __init__(self, models: ModelConfig, store: Store, budget: int, aliases: tuple[str, ...] = ()) -> None:
        self._engine, self._budget = Engine(models, store), budget
        self._sent = SentConversations()
        self.model = ServedModel(served_name(models.target), aliases)
        self.encoder = ServedModel(served_name(models.drafter), (self.model.name, *aliases))

    @property
    def context_limit(self) -> int | None:
        """The target's context in tokens, or None until it is loaded."""
        return self._engine.context_limit

    @property
    def states(self) -> tuple[ModelState, ModelState]:
        """The state of the drafter and of the target."""
        return self._engine.drafter, self._engine.target

    async def complete(self, request: ChatRequest, on_piece: TurnPieceSink) -> Completion:
        """Answer once it is this request's turn. Cancelling the task stops the work."""

        def prepare() -> Work[Completion]:
            assistant = self._engine.assistant()

            def work(cancellation: Cancellation) -> Completion:
                return complete(assistant, request.asked, self._budget, self._sent, on_piece, cancellation)

            return work

        return await self._engine.queue.question(prepare, lambda _: None, Asker(request.user))

    async def count(self, request: ChatRequest) -> int:
        """The tokens of a request's prompt as it came, once it is this request's turn."""

        def prepare() -> Work[int]:
            assistant = self._engine.assistant()
            return lambda cancellation: prompt_tokens(assistant, request.asked, cancellation)

        return await self._engine.queue.question(prepare, lambda _: None, Asker(request.user))

    async def embed(self, texts: Sequence[str], user: str | None) -> tuple[Float32, int]:
        """The drafter's vectors of texts, once it is this request's turn."""

        def prepare() -> Work[tuple[Float32, int]]:
            keys = self._engine.assistant().keys
            return lambda cancellation: keys.wait_for(cancellation).drafter.text_vectors(texts, cancellation)

        return await self._engine.queue.question(prepare, lambda _: None, Asker(user))

    async def close(self) -> None:
        """Free the models."""
        await asyncio.to_thread(self._engine.close)


def served_name(target: str) -> str:
    """The target's name for clients: its own, its file name without suffix, or its server's name for it."""
    if is_url(target):
        address = parse(target)
        return address.model or address.host
    return Path(target).stem if target.endswith(".gguf") else target


def serve_http(
    models: ModelConfig,
    store: Store,
    budget: int,
    host: str,
    port: int,
    guard: Guard,
    ready: Callable[[str, int], None],
    aliases: tuple[str, ...] = (),
) -> None:
    """Serve until told to stop; `ready` gets the address. Raises OSError if the address is not available."""
    with listening_socket(host, port) as listening:
        application = app(lambda: EngineService(models, store, budget, aliases), guard)
        ready(*listening.getsockname()[:2])
        web_server(application).run([listening])
