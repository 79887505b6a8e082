"""Anthropic's API: `/v1/messages`, streamed or whole, with tools, and the count of a prompt's tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from winnow_engine.chat.complete import CompletionRequest
from winnow_engine.core import Sampling, Thinking
from winnow_engine.prompting.messages import Message, Role
from winnow_engine.prompting.tools import ToolCall, Tools
from winnow_lsp.http.conversation import (
    checked,
    chosen,
    definition,
    functions_among,
    identifier,
    named,
    offered,
    text_of,
    unreadable,
)
from winnow_lsp.http.dialect import Dialect, event
from winnow_lsp.http.fields import ApiError, Fields, object_at, typed
from winnow_lsp.http.message_reply import MessageReply, error_document
from winnow_lsp.http.requests import ChatRequest, ServedModel, read_document, read_format, read_limit, read_sampling

_REQUEST = Fields(
    read=frozenset({
        "model", "messages", "system", "stream", "max_tokens", "temperature", "top_p", "seed", "stop_sequences",
        "tools", "tool_choice", "output_config", "output_format", "thinking", "thread",
    }),
)  # fmt: skip
_OUTPUT = Fields(frozenset({"format"}))
_THINKING = Fields(frozenset({"type", "budget_tokens"}))
_THOUGHTS: Mapping[str, Thinking] = {"enabled": "on", "adaptive": "auto", "disabled": "off"}
_MESSAGE = Fields(frozenset({"role", "content"}))
_TOOL = Fields(
    frozenset({"name", "description", "input_schema", "type", "strict", "defer_loading"}),
    neutral={"allowed_callers": (["direct"],)},
)
_BLOCKS: Mapping[str, Fields] = {
    "text": Fields(frozenset({"type", "text"})),
    "tool_use": Fields(frozenset({"type", "id", "name", "input"})),
    "tool_result": Fields(frozenset({"type", "tool_use_id", "content", "is_error"})),
    # Thoughts of earlier turns never become part of a prompt.
    "thinking": Fields(frozenset({"type", "thinking", "signature"})),
    "redacted_thinking": Fields(frozenset({"type", "data"})),
}
_OF_SERVERS = ("_tool_use", "_tool_result")
_ROLES: Mapping[str, tuple[Role, tuple[str, ...]]] = {
    "user": ("user", ("text", "tool_result")),
    "assistant": ("assistant", ("text", "tool_use", "thinking", "redacted_thinking")),
    "system": ("system", ("text",)),
}
_CHOICES = {"auto": "auto", "any": "required", "none": "none", "tool": "named"}


def read_request(body: bytes, model: ServedModel) -> ChatRequest:
    """Parse a request for a message by `model`. Raises ApiError, which names the field."""
    request = read_count(body, model)
    if not request.asked.limited:
        raise ApiError(400, "max_tokens is missing", "max_tokens")
    return request


def read_count(body: bytes, model: ServedModel) -> ChatRequest:
    """The same for a request whose tokens are to be counted: it need not say how long the answer may be."""
    ignored = set[str]()
    document = read_document(body, model, _REQUEST, ignored)
    if document.get("thread"):  # Anthropic's tool runner goes on without one if it hears so in these words
        unsupported = {"error_code": "thread_unsupported_request", "unsupported": ["thread"]}
        raise ApiError(400, "thread is not supported here: leave it out", "thread", details=unsupported)
    output = typed(document, "output_config", dict, {})
    _OUTPUT.check(output, ignored, "output_config.")
    sampling, limited = read_sampling(document, "stop_sequences", "max_tokens", hottest=1)
    asked = CompletionRequest(
        messages=_messages(document, ignored),
        sampling=_thinking(document, sampling, ignored),
        limited=limited,
        tools=_tools(document, ignored),
        # `output_format` is the older name, from when this was a beta.
        format=read_format(output, "format", "output_config.") or read_format(document, "output_format"),
    )
    stream = typed(document, "stream", bool, False)
    return ChatRequest(asked, document["model"], stream, True, tuple(sorted(ignored)))


def _thinking(document: Mapping[str, Any], sampling: Sampling, ignored: set[str]) -> Sampling:
    wanted = typed(document, "thinking", dict, {"type": "adaptive"})
    _THINKING.check(wanted, ignored, "thinking.")
    thinking, most = chosen(wanted, "type", _THOUGHTS, "thinking"), read_limit(wanted, "budget_tokens")
    return replace(sampling, thinking=thinking, thinking_tokens=most or sampling.thinking_tokens)


def _messages(document: Mapping[str, Any], ignored: set[str]) -> tuple[Message, ...]:
    found = list[tuple[Message, str]]()
    if document.get("system"):
        blocks = _blocks(document["system"], "system", ("text",), ignored)
        found.append((Message("system", "\n".join(block["text"] for _, block in blocks)), "system"))
    for number, value in enumerate(typed(document, "messages", list, None)):
        found += _turn(value, f"messages[{number}]", ignored)
    if found and found[-1][0].role == "assistant":
        raise ApiError(
            400, "assistant message prefill is not supported: the conversation must end with a user message", "messages"
        )
    return checked([message for message, _ in found], [place for _, place in found], "messages")


def _turn(value: Any, place: str, ignored: set[str]) -> Iterator[tuple[Message, str]]:
    """The messages that one of Anthropic's stands for, each with the field that names its call."""
    role, kinds = chosen(value, "role", _ROLES, place)
    _MESSAGE.check(value, ignored, f"{place}.")
    blocks = list(_blocks(value.get("content"), f"{place}.content", kinds, ignored))
    for where, block in blocks:
        if block["type"] == "tool_result":
            yield _result(block, where), f"{where}.tool_use_id"
    text = "\n".join(block["text"] for _, block in blocks if block["type"] == "text")
    calls = tuple(_call(block, where) for where, block in blocks if block["type"] == "tool_use")
    if role == "assistant" or text or not blocks:
        yield Message(role, text, calls), place


def _blocks(value: Any, place: str, kinds: tuple[str, ...], ignored: set[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The blocks of a content with their places; a text is a block of text."""
    if isinstance(value, str):
        value = [{"type": "text", "text": value}]
    if not isinstance(value, list | None):
        raise ApiError(400, f"{place} must be a text or a list of blocks", place)
    for number, block in enumerate(value or []):
        where = f"{place}[{number}]"
        kind = typed(object_at(block, where), "type", str, "", f"{where}.")
        if "tool_use" in kinds and kind not in kinds and kind.endswith(_OF_SERVERS):
            ignored.add(kind)
            continue
        if kind not in kinds:
            raise unreadable(kind, where, where)
        _BLOCKS[kind].check(block, ignored, f"{where}.")
        if kind == "text":
            typed(block, "text", str, None, f"{where}.")
        yield where, block


def _result(block: Mapping[str, Any], place: str) -> Message:
    """A tool's result. Chat templates have no place to say that it is an error, so its text does."""
    text = text_of(_with_references(block.get("content"), place), f"{place}.content")
    failed = typed(block, "is_error", bool, False, f"{place}.")
    return Message("tool", f"Error: {text}" if failed else text, call_id=identifier(block, "tool_use_id", place))


def _with_references(content: Any, place: str) -> Any:
    """The content of a result, where a reference to a tool is a text that says so."""
    if not isinstance(content, list):
        return content or ""
    parts = list(content)
    for number, part in enumerate(content):
        if isinstance(part, dict) and part.get("type") == "tool_reference":
            name = typed(part, "tool_name", str, "", f"{place}.")
            parts[number] = {"type": "text", "text": f"The tool {name} can be called now."}
    return parts


def _referenced(document: Mapping[str, Any]) -> set[str]:
    """The tools that results refer to, in messages that have been read."""
    contents = [turn.get("content") for turn in typed(document, "messages", list, [])]
    blocks = [block for content in contents if isinstance(content, list) for block in content]
    results = [block["content"] for block in blocks if isinstance(block.get("content"), list)]
    parts = [part for result in results for part in result if isinstance(part, dict)]
    return {part["tool_name"] for part in parts if isinstance(part.get("tool_name"), str)}


def _call(block: Mapping[str, Any], place: str) -> ToolCall:
    name = named(block, place)["name"]
    arguments = json.dumps(typed(block, "input", dict, {}, f"{place}."), ensure_ascii=False)
    return ToolCall(identifier(block, "id", place), name, arguments)


def _shown(document: Mapping[str, Any], ignored: set[str]) -> list[tuple[str, dict[str, Any]]]:
    """The tools to offer, with places. Deferred ones wait for a reference, unless Anthropic's search finds them."""
    given = typed(document, "tools", list, [])
    tools = list(functions_among(given, "tools", ("custom", None), ignored))
    deferred = [tool.get("defer_loading") is True for _, tool in tools]
    if all(deferred) or any(str(tool.get("type")).startswith("tool_search") for tool in given):
        return tools
    known = _referenced(document)
    return [one for one, waits in zip(tools, deferred, strict=True) if not waits or str(one[1].get("name")) in known]


def _tools(document: Mapping[str, Any], ignored: set[str]) -> Tools:
    definitions = []
    for place, tool in _shown(document, ignored):
        _TOOL.check(tool, ignored, f"{place}.")
        schema = typed(tool, "input_schema", dict, {}, f"{place}.")
        described = {"name": tool.get("name"), "description": tool.get("description"), "parameters": schema}
        if typed(tool, "strict", bool, False, f"{place}."):
            described["strict"] = True
        definitions.append(definition(described, place))
    choice = typed(document, "tool_choice", dict, {"type": "auto"})
    kind = chosen(choice, "type", _CHOICES, "tool_choice")
    only = named(choice, "tool_choice")["name"] if kind == "named" else None
    alone = typed(choice, "disable_parallel_tool_use", bool, False, "tool_choice.")
    return offered(definitions, kind, only, not alone)


MESSAGES = Dialect(read_request, MessageReply, error_document, event({"type": "ping"}), read_count)
