"""Replies of `/v1/responses`: a response, whole or as events."""

from __future__ import annotations

from collections.abc import Mapping
from time import time
from typing import Any
from uuid import uuid4

from winnow_engine.chat.complete import Completion
from winnow_engine.chat.turn import ThoughtDelta, TurnPiece
from winnow_engine.errors import TargetProtocolError
from winnow_engine.prompting.tools import AnswerFormat, CallDelta, ToolCall
from winnow_lsp.http.dialect import event
from winnow_lsp.http.fields import ApiError
from winnow_lsp.http.requests import LONGEST_ANSWER, ChatRequest

_LOGPROBS: Mapping[str, dict[str, Any]] = {"output_text": {"logprobs": []}, "reasoning_text": {}}


class ResponseReply:
    """The documents of one response. Its items follow one another: a new one ends the one before."""

    def __init__(self, request: ChatRequest) -> None:
        self._request, self._model, self._namespaces = request.asked, request.model, request.namespaces
        self._id, self._created = f"resp_{uuid4().hex}", int(time())
        self._number = -1  # of the last event
        self._items = list[dict[str, Any]]()
        self._open: int | str | None = None  # a call's number, or the type of an item's part

    def whole(self, completion: Completion) -> dict[str, Any]:
        """As `ApiReply` says."""
        text, thought = completion.generation.text, completion.generation.thought
        items = [_item_of("reasoning_text", thought.text, "completed")] if thought else []
        items += [_item_of("output_text", text, "completed")] if text else []
        items += [self._function_call(call, "completed") for call in completion.calls]
        response = self._ended(completion, items)
        items[-1:] = [last | {"status": response["status"]} for last in items[-1:]]
        return response

    def first(self) -> bytes:
        """As `ApiReply` says."""
        begun = self._response("in_progress", [])
        return self._event("created", response=begun) + self._event("in_progress", response=begun)

    def piece(self, piece: TurnPiece) -> bytes:
        """As `ApiReply` says."""
        if isinstance(piece, CallDelta):
            return self._of_call(piece)
        kind, text = ("reasoning_text", piece.text) if isinstance(piece, ThoughtDelta) else ("output_text", piece)
        begun = b"" if self._open == kind else self._begin_part(kind)
        self._items[-1]["content"][0]["text"] += text
        return begun + self._of_item(f"{kind}.delta", content_index=0, delta=text, **_LOGPROBS[kind])

    def last(self, completion: Completion) -> bytes:
        """As `ApiReply` says."""
        response = self._ended(completion, self._items)
        return self._done(response["status"]) + self._event(response["status"], response=response)

    def failed(self, error: ApiError) -> bytes:
        """As `ApiReply` says. OpenAI's own package raises APIError for the second event."""
        code = error.code or "server_error"
        response = self._response("failed", self._items) | {"error": {"code": code, "message": str(error)}}
        end = self._event("failed", response=response)
        return end + event({
            "type": "error", "sequence_number": self._number + 1, "code": code, "message": str(error),
            "param": error.param, **error.document,
        })  # fmt: skip

    def _begin_part(self, kind: str) -> bytes:
        begun = self._begin(kind, _item_of(kind, None, "in_progress"))
        self._items[-1]["content"].append(_part(kind, ""))
        return begun + self._of_item("content_part.added", content_index=0, part=_part(kind, ""))

    def _of_call(self, piece: CallDelta) -> bytes:
        begun = b""
        if piece.id:
            begun = self._begin(piece.index, self._function_call(ToolCall(piece.id, piece.name, ""), "in_progress"))
        if self._open != piece.index:
            raise TargetProtocolError("the target's server sends several calls at the same time")
        if not piece.arguments:
            return begun
        self._items[-1]["arguments"] += piece.arguments
        return begun + self._of_item("function_call_arguments.delta", delta=piece.arguments)

    def _function_call(self, call: ToolCall, status: str) -> dict[str, Any]:
        namespace, name = self._namespaces.get(call.name, (None, call.name))
        own = {"call_id": call.id, "name": name, "arguments": call.arguments}
        own |= {"namespace": namespace} if namespace else {}
        return {"id": f"fc_{uuid4().hex}", "type": "function_call", "status": status, **own}

    def _begin(self, what: int | str, item: dict[str, Any]) -> bytes:
        done = self._done()
        self._open = what
        self._items.append(item)
        return done + self._event("output_item.added", output_index=len(self._items) - 1, item=item)

    def _done(self, status: str = "completed") -> bytes:
        if self._open is None:
            return b""
        item, was = self._items[-1], self._open
        self._open, item["status"] = None, status
        if isinstance(was, str):
            part = item["content"][0]
            done = self._of_item(f"{was}.done", content_index=0, text=part["text"], **_LOGPROBS[was])
            done += self._of_item("content_part.done", content_index=0, part=part)
        else:
            done = self._of_item("function_call_arguments.done", arguments=item["arguments"], name=item["name"])
        return done + self._event("output_item.done", output_index=len(self._items) - 1, item=item)

    def _of_item(self, kind: str, **fields: Any) -> bytes:
        return self._event(kind, item_id=self._items[-1]["id"], output_index=len(self._items) - 1, **fields)

    def _event(self, kind: str, **fields: Any) -> bytes:
        self._number += 1
        return event({"type": f"response.{kind}", "sequence_number": self._number, **fields})

    def _ended(self, completion: Completion, items: list[dict[str, Any]]) -> dict[str, Any]:
        cut = completion.generation.finish == "length"
        status, why = ("incomplete", {"reason": "max_output_tokens"}) if cut else ("completed", None)
        return self._response(status, items) | {"usage": _usage(completion), "incomplete_details": why}

    def _response(self, status: str, items: list[dict[str, Any]]) -> dict[str, Any]:
        asked, tools = self._request, self._request.tools
        most = asked.sampling.max_tokens if asked.sampling.max_tokens < LONGEST_ANSWER else None
        only = {"type": "function", "name": tools.only}
        return {
            "id": self._id, "object": "response", "created_at": self._created, "status": status, "model": self._model,
            "output": items, "error": None, "incomplete_details": None, "instructions": None, "metadata": {},
            "parallel_tool_calls": tools.parallel, "temperature": asked.sampling.temperature,
            "top_p": asked.sampling.top_p, "max_output_tokens": most if asked.limited else None,
            "tools": [{"type": "function", **one["function"]} for one in tools.definitions],
            "tool_choice": only if tools.only else "required" if tools.required else "auto",
            "previous_response_id": None, "store": False, "text": {"format": _format(asked.format)}, "usage": None,
        }  # fmt: skip


def _format(asked: AnswerFormat | None) -> dict[str, Any]:
    if asked is None:
        return {"type": "text"}
    document = asked.document
    return {"type": document["type"], **document.get("json_schema", {})}


def _item_of(kind: str, text: str | None, status: str) -> dict[str, Any]:
    """The item that a kind of part is the only one of: a message, or a thought."""
    content = [] if text is None else [_part(kind, text)]
    if kind == "reasoning_text":
        return {"id": f"rs_{uuid4().hex}", "type": "reasoning", "status": status, "summary": [], "content": content}
    return {"id": f"msg_{uuid4().hex}", "type": "message", "role": "assistant", "status": status, "content": content}


def _part(kind: str, text: str) -> dict[str, Any]:
    return {"type": kind, "text": text, **({"annotations": []} if kind == "output_text" else {}), **_LOGPROBS[kind]}


def _usage(completion: Completion) -> dict[str, Any]:
    one = completion.generation
    return {
        "input_tokens": one.prompt_tokens,
        "input_tokens_details": {"cached_tokens": one.reused_tokens},
        "output_tokens": one.decode_tokens,
        "output_tokens_details": {"reasoning_tokens": one.thought.tokens if one.thought else 0},
        "total_tokens": one.prompt_tokens + one.decode_tokens,
    }
