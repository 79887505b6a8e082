"""An API as the routes see it: reads requests, writes replies and errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Protocol

from winnow_engine.chat.complete import Completion
from winnow_engine.chat.turn import TurnPiece
from winnow_lsp.http.fields import ApiError
from winnow_lsp.http.requests import ChatRequest, ServedModel


class ApiReply(Protocol):
    """The documents of one answer: either `whole`, or events from `first` to `last`, or to `failed`."""

    def whole(self, completion: Completion) -> dict[str, Any]:
        """The answer to a request that does not stream. Raises TargetProtocolError if it cannot be worded."""

    def first(self) -> bytes:
        """The events that begin a stream."""

    def piece(self, piece: TurnPiece) -> bytes:
        """The events for a piece of text or of a call. Raises TargetProtocolError if they cannot follow the others."""

    def last(self, completion: Completion) -> bytes:
        """The events that end a stream."""

    def failed(self, error: ApiError) -> bytes:
        """The events that end a stream after an error."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One API. `read` takes a body and the model being served, and raises ApiError; `ping` keeps a stream alive.

    `read_count` reads a request for the count of its tokens, where that differs; `counted` are fields beside the count.
    """

    read: Callable[[bytes, ServedModel], ChatRequest]
    reply: Callable[[ChatRequest], ApiReply]
    error: Callable[[ApiError], dict[str, Any]] = attrgetter("document")
    ping: bytes = b": still reading\n\n"
    read_count: Callable[[bytes, ServedModel], ChatRequest] | None = None
    counted: Mapping[str, str] = field(default_factory=dict)


def event(document: dict[str, Any]) -> bytes:
    """A server-sent event with the name that its document gives as `type`."""
    return f"event: {document['type']}\n".encode() + data(document)


def data(document: dict[str, Any]) -> bytes:
    """A server-sent event without a name."""
    return b"data: " + json.dumps(document).encode() + b"\n\n"
