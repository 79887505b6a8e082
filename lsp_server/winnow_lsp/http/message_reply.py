"""Replies of `/v1/messages`: a message, whole or as events, and errors."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from winnow_engine.chat.complete import Completion
from winnow_engine.chat.turn import ThoughtDelta, TurnPiece
from winnow_engine.errors import TargetProtocolError
from winnow_engine.prompting.tools import CallDelta, ToolCall
from winnow_engine.untrusted import json_object
from winnow_lsp.http.dialect import event
from winnow_lsp.http.fields import ApiError
from winnow_lsp.http.requests import ChatRequest

_TYPES = {
    401: "authentication_error", 403: "permission_error", 404: "not_found_error", 408: "timeout_error",
    413: "request_too_large",
}  # fmt: skip


class MessageReply:
    """The documents of one message. Its blocks follow one another: a new one ends the one before."""

    def __init__(self, request: ChatRequest) -> None:
        self._model, self._stops = request.model, request.asked.sampling.stop
        self._id = f"msg_{uuid4().hex}"
        self._blocks = 0  # begun so far
        self._open: int | str | None = None  # a call's number, "text" or "thinking"

    def whole(self, completion: Completion) -> dict[str, Any]:
        """As `ApiReply` says."""
        text, thought = completion.generation.text, completion.generation.thought
        blocks: list[dict[str, Any]] = [_thought(thought.text)] if thought else []
        blocks += [{"type": "text", "text": text}] if text else []
        blocks += [_tool_use(call.id, call.name, _arguments(call, completion)) for call in completion.calls]
        return self._message(blocks) | self._end(completion) | {"usage": _usage(completion)}

    def first(self) -> bytes:
        """As `ApiReply` says. What the prompt took is known at the end only."""
        message = self._message([]) | {"usage": {"input_tokens": 0, "output_tokens": 0}}
        return event({"type": "message_start", "message": message})

    def piece(self, piece: TurnPiece) -> bytes:
        """As `ApiReply` says."""
        if isinstance(piece, CallDelta):
            return self._of_call(piece)
        if isinstance(piece, ThoughtDelta):
            begun = b"" if self._open == "thinking" else self._begin("thinking", _thought(""))
            return begun + self._delta({"type": "thinking_delta", "thinking": piece.text})
        begun = b"" if self._open == "text" else self._begin("text", {"type": "text", "text": ""})
        return begun + self._delta({"type": "text_delta", "text": piece})

    def last(self, completion: Completion) -> bytes:
        """As `ApiReply` says."""
        end = {"type": "message_delta", "delta": self._end(completion), "usage": _usage(completion)}
        return self._stop() + event(end) + event({"type": "message_stop"})

    def failed(self, error: ApiError) -> bytes:
        """As `ApiReply` says."""
        return event(error_document(error))

    def _of_call(self, piece: CallDelta) -> bytes:
        begun = self._begin(piece.index, _tool_use(piece.id, piece.name, {})) if piece.id else b""
        if self._open != piece.index:
            raise TargetProtocolError("the target's server sends several calls at the same time")
        more = {"type": "input_json_delta", "partial_json": piece.arguments}
        return begun + (self._delta(more) if piece.arguments else b"")

    def _begin(self, what: int | str, block: dict[str, Any]) -> bytes:
        stop = self._stop()
        self._open, self._blocks = what, self._blocks + 1
        return stop + event({"type": "content_block_start", "index": self._blocks - 1, "content_block": block})

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return event({"type": "content_block_delta", "index": self._blocks - 1, "delta": delta})

    def _stop(self) -> bytes:
        if self._open is None:
            return b""
        self._open = None
        return event({"type": "content_block_stop", "index": self._blocks - 1})

    def _message(self, content: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": self._id, "type": "message", "role": "assistant", "model": self._model, "content": content,
            "stop_reason": None, "stop_sequence": None,
        }  # fmt: skip

    def _end(self, completion: Completion) -> dict[str, Any]:
        finish = completion.generation.finish
        if finish != "length" and completion.calls:
            return {"stop_reason": "tool_use", "stop_sequence": None}
        if finish != "stop":
            return {"stop_reason": "max_tokens" if finish == "length" else "end_turn", "stop_sequence": None}
        return {"stop_reason": "stop_sequence", "stop_sequence": self._stops[0] if len(self._stops) == 1 else None}


def error_document(error: ApiError) -> dict[str, Any]:
    """Anthropic's form of an error. It has no place for the field that is meant, which the message names."""
    kind = _TYPES.get(error.status, "invalid_request_error" if error.status < 500 else "api_error")
    details = {"details": error.details} if error.details else {}
    return {"type": "error", "error": {"type": kind, "message": error.anthropic, **details}}


def _thought(text: str) -> dict[str, Any]:
    """A block of thought. Nobody has signed it, and nobody will read it again."""
    return {"type": "thinking", "thinking": text, "signature": ""}


def _tool_use(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def _arguments(call: ToolCall, completion: Completion) -> dict[str, Any]:
    """A call's arguments; none of one that was cut off. Raises TargetProtocolError for others that are no object."""
    found = json_object(call.arguments)
    if found is None and completion.generation.finish != "length":
        raise TargetProtocolError(f"the target calls {call.name} with arguments that are no JSON object")
    return found or {}


def _usage(completion: Completion) -> dict[str, Any]:
    """Token counts; the prompt's that were in the target's memory already count apart."""
    one = completion.generation
    return {
        "input_tokens": one.prompt_tokens - one.reused_tokens,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": one.reused_tokens,
        "output_tokens": one.decode_tokens,
    }
