"""OpenAI's newer API: `/v1/responses`, streamed or whole, with tools, and the count of a prompt's tokens.

Nothing is stored: each request brings the whole conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from winnow_engine.chat.complete import CompletionRequest
from winnow_engine.prompting.messages import Message, Role
from winnow_engine.prompting.tools import ToolCall, Tools
from winnow_lsp.http.conversation import (
    arguments_of,
    checked,
    chosen,
    custom_call,
    definition,
    functions_among,
    identifier,
    named,
    offered,
    text_of,
)
from winnow_lsp.http.dialect import Dialect
from winnow_lsp.http.fields import ApiError, Fields, object_at, typed
from winnow_lsp.http.requests import ChatRequest, ServedModel, read_document, read_format, read_sampling, with_effort
from winnow_lsp.http.response_reply import ResponseReply

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
    sampling, limited = read_sampling(document, "stop", "max_output_tokens")
    tools, namespaces = _tools(document, ignored)
    asked = CompletionRequest(
        messages=_messages(document, ignored),
        sampling=replace(sampling, thinking=thinking),
        limited=limited,
        tools=tools,
        format=read_format(text, "format", "text."),
    )
    stream = typed(document, "stream", bool, False)
    return ChatRequest(asked, document["model"], stream, True, tuple(sorted(ignored)), namespaces)


def _messages(document: Mapping[str, Any], ignored: set[str]) -> tuple[Message, ...]:
    given = document.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else typed(document, "input", list, None)
    said = list[tuple[Message, list[ToolCall], str]]()
    for number, item in enumerate(items):
        place = f"input[{number}]"
        message = _item(object_at(item, place), place, ignored)
        if message is None:
            continue
        if message.calls and said and said[-1][0].role == "assistant":
            said[-1][1].extend(message.calls)
        else:
            said.append((message, [*message.calls], f"{place}.call_id"))
    messages = [replace(message, calls=tuple(calls)) for message, calls, _ in said]
    places = [place for *_, place in said]
    instructions = typed(document, "instructions", str, "")
    if instructions:
        messages, places = [Message("system", instructions), *messages], ["instructions", *places]
    return checked(messages, places, "input")


def _item(item: Mapping[str, Any], place: str, ignored: set[str]) -> Message | None:
    """The message of an item. None for a thought, which never becomes part of a prompt, and for OpenAI's own tools."""
    kind = typed(item, "type", str, "message", f"{place}.")
    if kind == "reasoning":
        return None
    if kind not in _ITEMS and kind.endswith(_OF_SERVERS):
        ignored.add(f"input.{kind}")
        return None
    if kind not in _ITEMS:
        raise ApiError(400, f"{place} must be one of {', '.join(_ITEMS)}", place, "unsupported_value")
    _ITEMS[kind].check(item, ignored, f"{place}.")
    if kind == "message":
        role = chosen(item, "role", _ROLES, place)
        return Message(role, text_of(item.get("content"), f"{place}.content", _PARTS))
    call_id = identifier(item, "call_id", place)
    if kind.endswith("_output"):
        return Message("tool", text_of(item.get("output"), f"{place}.output", _PARTS), call_id=call_id)
    return Message("assistant", "", (_call(item, call_id, place),))


def _call(item: Mapping[str, Any], call_id: str, place: str) -> ToolCall:
    name = _joined(item, place)
    if item.get("type") == "custom_tool_call":
        return custom_call(item, call_id, name, place)
    return ToolCall(call_id, name, arguments_of(typed(item, "arguments", str, "", f"{place}.")))


def _joined(function: Mapping[str, Any], place: str) -> str:
    name, namespace = str(named(function, place)["name"]), typed(function, "namespace", str, "", f"{place}.")
    return f"{namespace}{'' if namespace.endswith('__') else '__'}{name}" if namespace else name


def _tools(document: Mapping[str, Any], ignored: set[str]) -> tuple[Tools, dict[str, tuple[str, str]]]:
    """The tools on offer, and the namespaces and own names of those that are offered by both joined."""
    definitions, namespaces = list[Mapping[str, Any]](), dict[str, tuple[str, str]]()
    for place, tool in _functions(document, ignored):
        _TOOL.check({name: value for name, value in tool.items() if name != "namespace"}, ignored, f"{place}.")
        name = _joined(tool, place)
        if tool.get("namespace"):
            namespaces[name] = tool["namespace"], tool["name"]
        own = {key: value for key, value in tool.items() if key in _OF_FUNCTION}
        definitions.append(definition({**own, "name": name}, place))
    choice = document.get("tool_choice") or "auto"
    only = None
    if isinstance(choice, dict) and choice.get("type") == "function":
        only = _joined(choice, "tool_choice")
    elif choice not in ("none", "auto", "required"):
        raise ApiError(400, "tool_choice must be none, auto, required or a function", "tool_choice")
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


RESPONSES = Dialect(read_request, ResponseReply, counted={"object": "response.input_tokens"})
