"""OpenAI's newer API: `/v1/responses`, streamed or whole, with tools, and the count of a prompt's tokens.

Nothing is stored: each request brings the whole conversation.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from time import time
from typing import Any
from uuid import uuid4

from winnow_engine.chat.complete import Completion, CompletionRequest
from winnow_engine.chat.turn import ThoughtDelta, TurnPiece
from winnow_engine.errors import TargetProtocolError
from winnow_engine.prompting.answer_format import AnswerFormat
from winnow_engine.prompting.messages import Message, Role
from winnow_engine.prompting.tools import CallDelta, ToolCall, Tools
from winnow_lsp.http.conversation import (
    arguments_of,
    checked,
    definition,
    functions_among,
    identifier,
    named,
    offered,
    role_of,
    text_of,
)
from winnow_lsp.http.dialect import Counting, Dialect, event
from winnow_lsp.http.errors import ApiError
from winnow_lsp.http.fields import Fields, object_at, typed
from winnow_lsp.http.formats import read_format
from winnow_lsp.http.requests import ChatRequest, answer_length, read_document, read_sampling, with_effort
from winnow_lsp.http.served_model import ServedModel

_REQUEST = Fields(
    read=frozenset({
        "model", "input", "instructions", "stream", "max_output_tokens", "temperature", "top_p", "seed", "stop",
        "tools", "tool_choice", "parallel_tool_calls", "text", "include", "reasoning",
    }),
    refused=frozenset({"previous_response_id", "conversation", "prompt", "top_logprobs"}),
    neutral={"background": (False,), "top_logprobs": (0,), "store": (False,)},
)  # fmt: skip
_TEXT = Fields(frozenset({"format"}))
_REASONING = Fields(frozenset({"effort"}))
_OF_FUNCTION = frozenset({"name", "description", "parameters", "strict"})
# Functions that a search of OpenAI's would load are offered from the beginning.
_TOOL = Fields(_OF_FUNCTION | {"type", "defer_loading"}, neutral={"allowed_callers": (["direct"],)})
# Ids and states of items come with every conversation that goes on: nobody need hear that they do not count.
_COMMON = frozenset({"type", "id", "status", "phase", "caller"})
_CALL = Fields(_COMMON | {"call_id", "name", "namespace", "arguments", "input"})
_RESULT = Fields(_COMMON | {"call_id", "name", "output"})
_ITEMS: Mapping[str, Fields] = {
    "message": Fields(_COMMON | {"role", "content"}),
    "function_call": _CALL,
    "custom_tool_call": _CALL,
    "function_call_output": _RESULT,
    "custom_tool_call_output": _RESULT,
}
_OF_SERVERS = ("_call", "_call_output", "_list_tools", "_search_output", "_approval_request", "_approval_response")
_UNREADABLE = "message.output_text.logprobs"
_ROLES: Mapping[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_LOGPROBS: Mapping[str, dict[str, Any]] = {"output_text": {"logprobs": []}, "reasoning_text": {}}
_PARTS = ("input_text", "output_text", "text")


def read_request(body: bytes, model: ServedModel) -> ChatRequest:
    """Parse a request for a response by `model`. Raises ApiError, which names the field."""
    ignored = set[str]()
    document = read_document(body, model, _REQUEST, ignored)
    text = typed(document, "text", dict, {})
    _TEXT.check(text, ignored, "text.")
    reasoning = typed(document, "reasoning", dict, {})
    _REASONING.check(reasoning, ignored, "reasoning.")
    thinking = with_effort(typed(reasoning, "effort", str, "", "reasoning."))
    if _UNREADABLE in typed(document, "include", list, []):
        raise ApiError(400, f"include has {_UNREADABLE}, which there is not here", "include", "unsupported_value")
    length = answer_length(document, "max_output_tokens")
    tools, namespaces = _tools(document, ignored)
    asked = CompletionRequest(
        messages=_messages(document, ignored),
        sampling=replace(read_sampling(document, length, "stop"), thinking=thinking),
        limited=length is not None,
        tools=tools,
        format=read_format(text, "format", "text."),
    )
    stream = typed(document, "stream", bool, False)
    return ChatRequest(asked, document["model"], stream, True, tuple(sorted(ignored)), namespaces)


def _messages(document: Mapping[str, Any], ignored: set[str]) -> tuple[Message, ...]:
    given = document.get("input", [])
    items = [{"role": "user", "content": given}] if isinstance(given, str) else typed(document, "input", list, [])
    messages, places = list[Message](), list[str]()
    for number, item in enumerate(items):
        place = f"input[{number}]"
        message = _item(object_at(item, place), place, ignored)
        if message is None:
            continue
        if message.calls and messages and messages[-1].role == "assistant":
            messages[-1] = replace(messages[-1], calls=messages[-1].calls + message.calls)
        else:
            messages.append(message)
            places.append(f"{place}.call_id")
    instructions = typed(document, "instructions", str, "")
    if instructions:
        messages, places = [Message("system", instructions), *messages], ["instructions", *places]
    return checked(messages, places, "input")


def _item(item: Mapping[str, Any], place: str, ignored: set[str]) -> Message | None:
    """The message of an item. None for a thought, which never becomes part of a prompt, and for OpenAI's own tools."""
    kind = typed(item, "type", str, "message", f"{place}.")
    if kind not in _ITEMS and kind.endswith(_OF_SERVERS):
        ignored.add(f"input.{kind}")
    if kind == "reasoning" or (kind not in _ITEMS and kind.endswith(_OF_SERVERS)):
        return None
    if kind not in _ITEMS:
        raise ApiError(400, f"{place} must be one of {', '.join(_ITEMS)}", place, "unsupported_value")
    _ITEMS[kind].check(item, ignored, f"{place}.")
    if kind == "message":
        return _said(item, place)
    call_id = identifier(item, "call_id", place)
    if kind.endswith("_output"):
        return Message("tool", text_of(item.get("output"), f"{place}.output", _PARTS), call_id=call_id)
    return Message("assistant", "", (ToolCall(call_id, _joined(item, place), _arguments(item, place)),))


def _arguments(item: Mapping[str, Any], place: str) -> str:
    """The arguments of a call; those of a custom tool are a text."""
    if item.get("type") == "custom_tool_call":
        return json.dumps({"input": typed(item, "input", str, "", f"{place}.")})
    return arguments_of(typed(item, "arguments", str, "", f"{place}."))


def _joined(function: Mapping[str, Any], place: str) -> str:
    """The name of a function with that of its namespace, if it has one."""
    name, namespace = str(named(function, place)["name"]), typed(function, "namespace", str, "", f"{place}.")
    return f"{namespace}{'' if namespace.endswith('__') else '__'}{name}" if namespace else name


def _said(item: Mapping[str, Any], place: str) -> Message:
    return Message(role_of(item, _ROLES, place), text_of(item.get("content"), f"{place}.content", _PARTS))


def _tools(document: Mapping[str, Any], ignored: set[str]) -> tuple[Tools, dict[str, tuple[str, str]]]:
    """The tools on offer, and the namespaces and own names of those that are offered by both joined."""
    definitions, namespaces = list[Mapping[str, Any]](), dict[str, tuple[str, str]]()
    for place, tool in _functions(document, ignored):
        _TOOL.check({name: value for name, value in tool.items() if name != "namespace"}, ignored, f"{place}.")
        name = _joined(tool, place)
        if tool.get("namespace"):
            namespaces[name] = tool["namespace"], tool["name"]
        definitions.append(definition({**{key: tool[key] for key in tool.keys() & _OF_FUNCTION}, "name": name}, place))
    choice = document.get("tool_choice") or "auto"
    if isinstance(choice, dict):
        _check_function(choice, "tool_choice")
    elif choice not in ("none", "auto", "required"):
        raise ApiError(400, "tool_choice must be none, auto, required or a function", "tool_choice")
    only = _joined(choice, "tool_choice") if isinstance(choice, dict) else None
    parallel = typed(document, "parallel_tool_calls", bool, True)
    return offered(definitions, "named" if only else str(choice), only, parallel), namespaces


def _functions(document: Mapping[str, Any], ignored: set[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The functions, those of namespaces too, with their places. A namespace's first one tells what that is for."""
    given = typed(document, "tools", list, [])
    for place, tool in functions_among(given, "tools", ("function", "namespace"), ignored):
        if tool["type"] == "function":
            yield place, tool
            continue
        about = typed(tool, "description", str, "", f"{place}.")
        inner = typed(tool, "tools", list, [], f"{place}.")
        for where, one in functions_among(inner, f"{place}.tools", ("function",), ignored):
            described = "\n\n".join(text for text in (about, typed(one, "description", str, "", f"{where}.")) if text)
            yield where, {**one, "namespace": named(tool, place)["name"], "description": described}
            about = ""


def _check_function(value: Mapping[str, Any], place: str) -> None:
    if value.get("type") != "function":
        raise ApiError(400, f"{place} must be of the type function", place, "unsupported_value")


class ResponseReply:
    """The documents of one response. Its items follow one another: a new one ends the one before."""

    def __init__(self, request: ChatRequest) -> None:
        self._request, self._model, self._namespaces = request.asked, request.model, request.namespaces
        self._id, self._created = f"resp_{uuid4().hex}", int(time())
        self._number = -1  # of the last event
        self._items = list[dict[str, Any]]()
        self._open: int | str | None = None  # a call's number, or the type of an item's part

    def whole(self, completion: Completion) -> dict[str, Any]:
        """As `Reply` says."""
        text, thought = completion.generation.text, completion.generation.thought
        items = [_item_of("reasoning_text", thought.text, "completed")] if thought else []
        items += [_item_of("output_text", text, "completed")] if text else []
        items += [self._function_call(call, "completed") for call in completion.calls]
        return self._ended(completion, items)

    def first(self) -> bytes:
        """As `Reply` says."""
        begun = self._response("in_progress", [])
        return self._event("created", response=begun) + self._event("in_progress", response=begun)

    def piece(self, piece: TurnPiece) -> bytes:
        """As `Reply` says."""
        if isinstance(piece, CallDelta):
            return self._of_call(piece)
        kind, text = ("reasoning_text", piece.text) if isinstance(piece, ThoughtDelta) else ("output_text", piece)
        begun = b"" if self._open == kind else self._begin_part(kind)
        self._items[-1]["content"][0]["text"] += text
        return begun + self._of_item(f"{kind}.delta", content_index=0, delta=text, **_LOGPROBS[kind])

    def last(self, completion: Completion) -> bytes:
        """As `Reply` says."""
        done = self._done()
        response = self._ended(completion, self._items)
        return done + self._event(response["status"], response=response)

    def failed(self, error: ApiError) -> bytes:
        """As `Reply` says. OpenAI's own package raises APIError for the second event."""
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
        within = {"namespace": namespace} if namespace else {}
        return {"id": f"fc_{uuid4().hex}", "type": "function_call", "status": status, **own, **within}

    def _begin(self, what: int | str, item: dict[str, Any]) -> bytes:
        done = self._done()
        self._open = what
        self._items.append(item)
        return done + self._event("output_item.added", output_index=len(self._items) - 1, item=item)

    def _done(self) -> bytes:
        """The events that end the item which is open."""
        if self._open is None:
            return b""
        item, was = self._items[-1], self._open
        self._open, item["status"] = None, "completed"
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
        end = {"usage": _usage(completion), "incomplete_details": {"reason": "max_output_tokens"} if cut else None}
        return self._response("incomplete" if cut else "completed", items) | end

    def _response(self, status: str, items: list[dict[str, Any]]) -> dict[str, Any]:
        asked, tools = self._request, self._request.tools
        only = {"type": "function", "name": tools.only}
        return {
            "id": self._id, "object": "response", "created_at": self._created, "status": status, "model": self._model,
            "output": items, "error": None, "incomplete_details": None, "instructions": None, "metadata": {},
            "parallel_tool_calls": tools.parallel, "temperature": asked.sampling.temperature,
            "top_p": asked.sampling.top_p, "max_output_tokens": asked.sampling.max_tokens if asked.limited else None,
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


def _counted(tokens: int) -> dict[str, Any]:
    return {"object": "response.input_tokens", "input_tokens": tokens}


RESPONSES = Dialect(read_request, ResponseReply, lambda error: error.document)
COUNTING = Counting(read_request, _counted)
