"""OpenAI's oldest API: `/v1/completions`, whole or streamed. The prompt is asked as the user's message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import time
from typing import Any
from uuid import uuid4

from winnow_engine.chat.complete import Completion, CompletionRequest
from winnow_engine.chat.turn import TurnPiece
from winnow_engine.prompting.messages import Message
from winnow_lsp.http.conversation import checked
from winnow_lsp.http.dialect import Dialect, data
from winnow_lsp.http.errors import ApiError
from winnow_lsp.http.fields import Fields
from winnow_lsp.http.replies import DONE, finish_of, usage
from winnow_lsp.http.requests import (
    GUIDED,
    ChatRequest,
    answer_length,
    read_document,
    read_sampling,
    read_stream,
)
from winnow_lsp.http.served_model import ServedModel

_REQUEST = Fields(
    read=frozenset({
        "model", "prompt", "stream", "stream_options", "max_tokens", "temperature", "top_p", "seed", "stop",
    }),
    refused=frozenset({"suffix", "echo", "n", "logprobs", "logit_bias", "response_format"}) | GUIDED,
    neutral={"n": (1,), "best_of": (1,), "echo": (False,), "frequency_penalty": (0,), "presence_penalty": (0,)},
)  # fmt: skip


def read_request(body: bytes, model: ServedModel) -> ChatRequest:
    """Parse a request for a completion by `model`. Raises ApiError, which names the field."""
    ignored = set[str]()
    document = read_document(body, model, _REQUEST, ignored)
    length = answer_length(document, "max_tokens")
    asked = CompletionRequest(
        messages=checked([Message("user", _prompt(document))], ["prompt"], "prompt"),
        sampling=read_sampling(document, length, "stop"),
        limited=length is not None,
    )
    return ChatRequest(asked, document["model"], *read_stream(document), tuple(sorted(ignored)))


def _prompt(document: Mapping[str, Any]) -> str:
    given = document.get("prompt")
    texts = given if isinstance(given, list) else [given]
    if len(texts) != 1 or not isinstance(texts[0], str):
        raise ApiError(400, "prompt must be a text, or a list of one text", "prompt", "unsupported_value")
    return texts[0]


@dataclass(frozen=True, slots=True)
class TextReply:
    """The documents of one completion. Thoughts have no place in them."""

    model: str
    include_usage: bool
    id: str = field(default_factory=lambda: f"cmpl-{uuid4().hex}")
    created: int = field(default_factory=lambda: int(time()))

    def whole(self, completion: Completion) -> dict[str, Any]:
        """As `ApiReply` says."""
        return self._document(completion.generation.text, finish_of(completion)) | {"usage": usage(completion)}

    def first(self) -> bytes:
        """As `ApiReply` says: nothing but the headers."""
        return b""

    def piece(self, piece: TurnPiece) -> bytes:
        """As `ApiReply` says."""
        return data(self._document(piece, None)) if isinstance(piece, str) else b""

    def last(self, completion: Completion) -> bytes:
        """As `ApiReply` says."""
        end = data(self._document("", finish_of(completion)))
        if self.include_usage:
            end += data(self._document("", None) | {"choices": [], "usage": usage(completion)})
        return end + DONE

    def failed(self, error: ApiError) -> bytes:
        """As `ApiReply` says."""
        return data(error.document)

    def _document(self, text: str, finish: str | None) -> dict[str, Any]:
        choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
        own = {"id": self.id, "object": "text_completion", "created": self.created, "model": self.model}
        return own | {"choices": [choice]}


COMPLETIONS = Dialect(
    read_request, lambda request: TextReply(request.model, request.include_usage), lambda error: error.document
)
