"""The service behind the APIs: one pair of models with its queue."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from winnow_cuda.shapes import Float32
from winnow_engine.assistant import Assistant
from winnow_engine.chat.complete import Completion, complete, prompt_tokens
from winnow_engine.chat.fitting import SentConversations
from winnow_engine.chat.turn import TurnPieceSink
from winnow_engine.config import ModelConfig
from winnow_engine.core import Cancellation
from winnow_engine.storage.store import Store
from winnow_engine.targets.remote.address import is_url, parse
from winnow_engine.targets.suggesting import resolved
from winnow_lsp.host.engines import Engine, ModelState
from winnow_lsp.host.queue import Asker
from winnow_lsp.http.requests import ChatRequest, ServedModel


class EngineService:
    """Answers requests with an engine, on the event loop. Cancelling a calling task stops its work."""

    def __init__(self, models: ModelConfig, store: Store, budget: int, aliases: tuple[str, ...] = ()) -> None:
        models = resolved(models)
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
        """Answer once it is this request's turn; `on_piece` is called from any thread."""

        def work(assistant: Assistant, cancellation: Cancellation) -> Completion:
            return complete(assistant, request.asked, self._budget, self._sent, on_piece, cancellation)

        return await self._engine.question(work, Asker(request.user))

    async def count(self, request: ChatRequest) -> int:
        """The tokens of a request's prompt as it came, once it is this request's turn."""
        return await self._engine.question(
            lambda assistant, cancellation: prompt_tokens(assistant, request.asked, cancellation), Asker(request.user)
        )

    async def embed(self, texts: Sequence[str], user: str | None) -> tuple[Float32, int]:
        """A vector of the drafter's for each text, float32 [N, columns], and their tokens."""

        def work(assistant: Assistant, cancellation: Cancellation) -> tuple[Float32, int]:
            return assistant.keys.wait_for(cancellation).drafter.text_vectors(texts, cancellation)

        return await self._engine.question(work, Asker(user))

    async def close(self) -> None:
        """Free the models."""
        await asyncio.to_thread(self._engine.close)


def served_name(target: str) -> str:
    """The target's name for clients: its own, its file name without suffix, or its server's name for it."""
    if is_url(target):
        address = parse(target)
        return address.model or address.host
    return Path(target).stem if target.endswith(".gguf") else target
