"""OpenAI's chat completions and `/v1/completions`, whose prompt is asked as the user's message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import time
from typing import Any, ClassVar
from uuid import uuid4

from winnow_engine.chat.complete import Completion, CompletionRequest
from winnow_engine.chat.turn import ThoughtDelta, TurnPiece
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import ToolCall
from winnow_lsp.http.conversation import checked
from winnow_lsp.http.dialect import Dialect, data
from winnow_lsp.http.fields import ApiError, Fields
from winnow_lsp.http.requests import (
    GUIDED,
    ChatRequest,
    ServedModel,
    read_document,
    read_request,
    read_sampling,
    read_stream,
)

_FINISHES = {"eos": "stop", "stop": "stop", "length": "length"}

_REQUEST = Fields(
    read=frozenset({
        "model", "prompt", "stream", "stream_options", "max_tokens", "temperature", "top_p", "seed", "stop",
    }),
    refused=frozenset({"suffix", "echo", "n", "logprobs", "logit_bias", "response_format"}) | GUIDED,
    neutral={"n": (1,), "best_of": (1,), "echo": (False,), "frequency_penalty": (0,), "presence_penalty": (0,)},
)  # fmt: skip


@dataclass(frozen=True)
class ChatReply:
    """The documents of one answer, all with the same id. Its `kinds` are those of a whole answer and of an event."""

    model: str
    include_usage: bool = False
    id: str = field(default_factory=lambda: uuid4().hex)
    created: int = field(default_factory=lambda: int(time()))
    prefix: ClassVar = "chatcmpl"
    kinds: ClassVar = ("chat.completion", "chat.completion.chunk")

    def whole(self, completion: Completion) -> dict[str, Any]:
        """The answer to a request that does not stream."""
        message: dict[str, Any] = {"role": "assistant", "content": completion.generation.text, "refusal": None}
        if thought := completion.generation.thought:
            message["reasoning_content"] = thought.text
        if completion.calls:
            calls = [call.document for call in completion.calls]
            message |= {"content": message["content"] or None, "tool_calls": calls}
        choice = self._choice("message", message, finish_of(completion))
        return self._document(self.kinds[0], [choice]) | {"usage": usage(completion)}

    def first(self) -> bytes:
        """The event that begins a stream."""
        return self._event({"role": "assistant", "content": ""}, None)

    def piece(self, piece: TurnPiece) -> bytes:
        """The event for a piece of text, of a thought or of a call."""
        if isinstance(piece, ThoughtDelta):
            return self._event({"reasoning_content": piece.text}, None)
        if isinstance(piece, str):
            return self._event({"content": piece}, None)
        more = {"function": {"arguments": piece.arguments}}
        call = ToolCall(piece.id, piece.name, piece.arguments).document if piece.id else more
        return self._event({"tool_calls": [{"index": piece.index, **call}]}, None)

    def last(self, completion: Completion) -> bytes:
        """The events that end a stream."""
        end = self._event({}, finish_of(completion))
        if self.include_usage:
            end += data(self._document(self.kinds[1], []) | {"usage": usage(completion)})
        return end + b"data: [DONE]\n\n"

    def failed(self, error: ApiError) -> bytes:
        """The event that ends a stream after an error."""
        return data(error.document)

    def _event(self, delta: dict[str, Any], finish: str | None) -> bytes:
        return data(self._document(self.kinds[1], [self._choice("delta", delta, finish)]))

    def _choice(self, field: str, message: dict[str, Any], finish: str | None) -> dict[str, Any]:
        return {"index": 0, field: message, "logprobs": None, "finish_reason": finish}

    def _document(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        identity = f"{self.prefix}-{self.id}"
        return {"id": identity, "object": kind, "created": self.created, "model": self.model, "choices": choices}


def usage(completion: Completion) -> dict[str, Any]:
    """Token counts. The field `winnow` holds what compression did, in tokens of the target."""
    one = completion.generation
    return {
        "prompt_tokens": one.prompt_tokens,
        "completion_tokens": one.decode_tokens,
        "total_tokens": one.prompt_tokens + one.decode_tokens,
        "prompt_tokens_details": {"cached_tokens": one.reused_tokens},
        **({"completion_tokens_details": {"reasoning_tokens": one.thought.tokens}} if one.thought else {}),
        "winnow": {
            "original_tokens": completion.original_tokens,
            "kept_tokens": one.prompt_tokens,
            "compression": completion.compression,
        },
    }


def finish_of(completion: Completion) -> str:
    """The reason in OpenAI's words why an answer ended."""
    finish = _FINISHES[completion.generation.finish]
    return "tool_calls" if completion.calls and finish == "stop" else finish


CHAT = Dialect(read_request, lambda request: ChatReply(request.model, request.include_usage))


def read_completion(body: bytes, model: ServedModel) -> ChatRequest:
    """Parse a request for a completion by `model`. Raises ApiError, which names the field."""
    ignored = set[str]()
    document = read_document(body, model, _REQUEST, ignored)
    sampling, limited = read_sampling(document, "stop", "max_tokens")
    asked = CompletionRequest(
        messages=checked([Message("user", _prompt(document))], ["prompt"], "prompt"),
        sampling=sampling,
        limited=limited,
    )
    return ChatRequest(asked, document["model"], *read_stream(document), tuple(sorted(ignored)))


def _prompt(document: Mapping[str, Any]) -> str:
    given = document.get("prompt")
    texts = given if isinstance(given, list) else [given]
    if len(texts) != 1 or not isinstance(texts[0], str):
        raise ApiError(400, "prompt must be a text, or a list of one text", "prompt", "unsupported_value")
    return texts[0]


@dataclass(frozen=True)
class TextReply(ChatReply):
    """The documents of one completion. Thoughts have no place in them."""

    prefix: ClassVar = "cmpl"
    kinds: ClassVar = ("text_completion", "text_completion")

    def first(self) -> bytes:
        """As `ApiReply` says: nothing but the headers."""
        return b""

    def piece(self, piece: TurnPiece) -> bytes:
        """As `ApiReply` says."""
        return self._event({"content": piece}, None) if isinstance(piece, str) else b""

    def _choice(self, field: str, message: dict[str, Any], finish: str | None) -> dict[str, Any]:
        return {"index": 0, "text": message.get("content", ""), "logprobs": None, "finish_reason": finish}


COMPLETIONS = Dialect(read_completion, lambda request: TextReply(request.model, request.include_usage))
