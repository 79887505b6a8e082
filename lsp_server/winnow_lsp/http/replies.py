"""The API's responses in OpenAI's format: completions, chunks, errors."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import time
from typing import Any
from uuid import uuid4

from winnow_engine.chat.complete import Completion
from winnow_engine.chat.turn import ThoughtDelta, TurnPiece
from winnow_engine.prompting.tools import ToolCall
from winnow_lsp.http.dialect import Dialect, data
from winnow_lsp.http.errors import ApiError
from winnow_lsp.http.requests import read_request

_FINISHES = {"eos": "stop", "stop": "stop", "length": "length"}
DONE = b"data: [DONE]\n\n"


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The documents of one answer, all with the same id."""

    model: str
    include_usage: bool = False
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid4().hex}")
    created: int = field(default_factory=lambda: int(time()))

    def whole(self, completion: Completion) -> dict[str, Any]:
        """The answer to a request that does not stream."""
        message: dict[str, Any] = {"role": "assistant", "content": completion.generation.text, "refusal": None}
        if thought := completion.generation.thought:
            message["reasoning_content"] = thought.text
        if completion.calls:
            calls = [call.document for call in completion.calls]
            message |= {"content": message["content"] or None, "tool_calls": calls}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_of(completion)}
        return self._document("chat.completion", [choice]) | {"usage": usage(completion)}

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
            end += data(self._document("chat.completion.chunk", []) | {"usage": usage(completion)})
        return end + DONE

    def failed(self, error: ApiError) -> bytes:
        """The event that ends a stream after an error."""
        return data(error.document)

    def _event(self, delta: dict[str, Any], finish: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return data(self._document("chat.completion.chunk", [choice]))

    def _document(self, kind: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model, "choices": choices}


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


CHAT = Dialect(
    read_request, lambda request: ChatReply(request.model, request.include_usage), lambda error: error.document
)
