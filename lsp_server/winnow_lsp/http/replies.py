"""The API's responses in OpenAI's format: completions, chunks, models, errors."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from time import time
from typing import Any
from uuid import uuid4

from winnow_engine.chat.complete import Completion
from winnow_engine.chat.turn import TurnPiece
from winnow_engine.errors import (
    BudgetError,
    ModelError,
    TargetProtocolError,
    TargetRefusedError,
    TargetTimeoutError,
    TargetUnreachableError,
    UnsupportedModelError,
    WinnowError,
)
from winnow_engine.prompting.tools import ToolCall

_FINISHES = {"eos": "stop", "stop": "stop", "length": "length"}
_REMOTE = (TargetUnreachableError, TargetTimeoutError, TargetRefusedError, TargetProtocolError)
DONE = b"data: [DONE]\n\n"


class ApiError(Exception):
    """An error response: its status, what is wrong, the field it is about, and a code for programs."""

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.param, self.code = status, param, code

    @property
    def document(self) -> dict[str, Any]:
        """OpenAI's form of an error."""
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}


def api_error(error: WinnowError) -> ApiError:
    """An engine's error as a response. Its class name is the code where OpenAI defines none."""
    if isinstance(error, BudgetError):
        return ApiError(400, str(error), "messages", "context_length_exceeded")
    status = 502 if isinstance(error, _REMOTE) else 503 if isinstance(error, ModelError) else 500
    return ApiError(400 if isinstance(error, UnsupportedModelError) else status, str(error), None, type(error).__name__)


@dataclass(frozen=True, slots=True)
class Reply:
    """The documents of one answer, all with the same id."""

    model: str
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid4().hex}")
    created: int = field(default_factory=lambda: int(time()))

    def whole(self, completion: Completion) -> dict[str, Any]:
        """The answer to a request that does not stream."""
        message: dict[str, Any] = {"role": "assistant", "content": completion.generation.text, "refusal": None}
        if completion.calls:
            calls = [call.document for call in completion.calls]
            message |= {"content": message["content"] or None, "tool_calls": calls}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(completion)}
        return self._document("chat.completion", [choice]) | {"usage": usage(completion)}

    def first(self) -> bytes:
        """The event that begins a stream."""
        return self._event({"role": "assistant", "content": ""}, None)

    def piece(self, piece: TurnPiece) -> bytes:
        """The event for a piece of text or of a call."""
        if isinstance(piece, str):
            return self._event({"content": piece}, None)
        more = {"function": {"arguments": piece.arguments}}
        call = ToolCall(piece.id, piece.name, piece.arguments).document if piece.id else more
        return self._event({"tool_calls": [{"index": piece.index, **call}]}, None)

    def last(self, completion: Completion, include_usage: bool) -> bytes:
        """The events that end a stream."""
        end = self._event({}, _finish(completion))
        if include_usage:
            end += _sse(self._document("chat.completion.chunk", []) | {"usage": usage(completion)})
        return end + DONE

    def _event(self, delta: dict[str, Any], finish: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return _sse(self._document("chat.completion.chunk", [choice]))

    def _document(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model, "choices": choices}


def failed(error: ApiError) -> bytes:
    """The event that ends a stream after an error."""
    return _sse(error.document)


def usage(completion: Completion) -> dict[str, Any]:
    """Token counts. The field `winnow` holds what compression did, in tokens of the target."""
    one = completion.generation
    return {
        "prompt_tokens": one.prompt_tokens,
        "completion_tokens": one.decode_tokens,
        "total_tokens": one.prompt_tokens + one.decode_tokens,
        "prompt_tokens_details": {"cached_tokens": one.reused_tokens},
        "winnow": {"original_tokens": completion.original_tokens, "kept_tokens": one.prompt_tokens},
    }


def models(name: str, context: int | None) -> dict[str, Any]:
    """A list of the one model, with vLLM's field for the context once that is known."""
    entry = {"id": name, "object": "model", "created": 0, "owned_by": "winnow", "max_model_len": context}
    return {"object": "list", "data": [{key: value for key, value in entry.items() if value is not None}]}


def _finish(completion: Completion) -> str:
    finish = _FINISHES[completion.generation.finish]
    return "tool_calls" if completion.calls and finish == "stop" else finish


def _sse(document: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"
