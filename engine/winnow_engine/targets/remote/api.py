"""The two ways to ask a server for an answer: OpenAI's API, which all speak, and Ollama's own."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Protocol

from winnow_engine.prompting.tools import Tools
from winnow_engine.targets.base import Request
from winnow_engine.targets.remote.address import Address
from winnow_engine.targets.remote.body import OPTIONAL, Attempt, RemotePrompt, request_body
from winnow_engine.targets.remote.chunks import Chunk, read_chunk
from winnow_engine.targets.remote.framing import SSE, Framing


class Api(Protocol):
    """Requests to one model on a server, and the chunks of its answer."""

    framing: Framing

    def url(self, address: Address) -> str:
        """The URL of the endpoint."""

    def body(self, model: str, request: Request[RemotePrompt], attempt: Attempt) -> dict[str, Any]:
        """The document that asks for an answer, streamed."""

    def optional(self, attempt: Attempt) -> Collection[str]:
        """The fields of `body` that a server may refuse and that are then left out."""

    def read(self, data: bytes, address: Address, stops: Sequence[str], tools: Tools) -> Chunk:
        """The chunk in one event. Raises TargetProtocolError, or the error that the server sent."""


class OpenAiApi:
    """`/v1/chat/completions`."""

    framing = SSE

    def url(self, address: Address) -> str:
        """As `Api.url`."""
        return f"{address.base}/chat/completions"

    def body(self, model: str, request: Request[RemotePrompt], attempt: Attempt) -> dict[str, Any]:
        """As `Api.body`."""
        return request_body(model, request, attempt)

    def optional(self, attempt: Attempt) -> Collection[str]:
        """As `Api.optional`."""
        return (*attempt.fields, *OPTIONAL)

    def read(self, data: bytes, address: Address, stops: Sequence[str], tools: Tools) -> Chunk:
        """As `Api.read`."""
        return read_chunk(data, address, stops, tools)
