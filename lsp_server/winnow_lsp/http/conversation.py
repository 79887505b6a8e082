"""The messages and tools of a chat completion request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from winnow_engine.prompting.messages import Message, Role
from winnow_engine.prompting.tools import NO_TOOLS, ToolCall, Tools
from winnow_lsp.http.fields import json_object, typed
from winnow_lsp.http.replies import ApiError

_ROLES: Mapping[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool",
}  # fmt: skip
_NAME = re.compile(r"[\w.:/-]+")
# Fields that a message may have besides its role and content.
_FIELDS: Mapping[Role, set[str]] = {"assistant": {"tool_calls"}, "tool": {"tool_call_id", "name"}}


def read_messages(document: Mapping[str, Any]) -> tuple[Message, ...]:
    """The conversation. Raises ApiError, which names the field."""
    given = typed(document, "messages", list, [])
    messages = tuple(_message(value, f"messages[{number}]") for number, value in enumerate(given))
    if not any(message.role == "user" and message.content.strip() for message in messages):
        raise ApiError(400, "there is no message of the user's that says anything", "messages")
    _check_results(messages)
    return messages


def read_tools(document: Mapping[str, Any]) -> Tools:
    """The tools on offer, none if the choice is `none`. Raises ApiError, which names the field."""
    given = typed(document, "tools", list, [])
    definitions = tuple(_definition(value, f"tools[{number}]") for number, value in enumerate(given))
    required, only = _choice(document.get("tool_choice") or "auto", definitions)
    parallel = typed(document, "parallel_tool_calls", bool, True)
    return NO_TOOLS if document.get("tool_choice") == "none" else Tools(definitions, required, only, parallel)


def _message(value: Any, place: str) -> Message:
    if not isinstance(value, dict):
        raise ApiError(400, f"{place} is not an object", place)
    said = value.get("role")
    if not isinstance(said, str) or said not in _ROLES:
        raise ApiError(400, f"{place}.role must be one of {', '.join(_ROLES)}", f"{place}.role", "unsupported_value")
    role = _ROLES[said]
    for name in value.keys() - {"role", "content"} - _FIELDS.get(role, set()):
        if value[name] not in (None, [], ""):
            raise ApiError(400, f"{place}.{name} is not supported here", f"{place}.{name}", "unsupported_parameter")
    given = typed(value, "tool_calls", list, [], f"{place}.") if role == "assistant" else []
    calls = tuple(_call(one, f"{place}.tool_calls[{number}]") for number, one in enumerate(given))
    content = "" if calls and value.get("content") is None else _content(value.get("content"), f"{place}.content")
    return Message(role, content, calls, typed(value, "tool_call_id", str, "", f"{place}.") if role == "tool" else "")


def _call(value: Any, place: str) -> ToolCall:
    function = _function(value, place)
    arguments = typed(function, "arguments", str, "", f"{place}.function.")
    json_object(arguments, f"{place}.function.arguments")
    call_id = typed(value, "id", str, "", f"{place}.")
    if not call_id:
        raise ApiError(400, f"{place}.id is missing", f"{place}.id")
    return ToolCall(call_id, function["name"], arguments or "{}")


def _definition(value: Any, place: str) -> Mapping[str, Any]:
    function = _function(value, place)
    typed(function, "description", str, "", f"{place}.function.")
    typed(function, "parameters", dict, {}, f"{place}.function.")
    return {"type": "function", "function": function}


def _function(value: Any, place: str) -> dict[str, Any]:
    """The function of a definition or a call; it must have a name."""
    if not isinstance(value, dict) or value.get("type", "function") != "function":
        raise ApiError(400, f"{place} must be of the type function", place, "unsupported_value")
    function = typed(value, "function", dict, {}, f"{place}.")
    if not _NAME.fullmatch(typed(function, "name", str, "", f"{place}.function.")):
        where = f"{place}.function.name"
        raise ApiError(400, f"{where} is missing, or has other characters than letters, digits and _ - . : /", where)
    return {name: inner for name, inner in function.items() if inner is not None}


def _choice(choice: Any, definitions: tuple[Mapping[str, Any], ...]) -> tuple[bool, str | None]:
    """Whether a tool must be called, and which one if only one may be."""
    if choice in ("none", "auto"):
        return False, None
    only = None if choice == "required" else str(_function(choice, "tool_choice")["name"])
    names = [one["function"]["name"] for one in definitions]
    if not names or (only is not None and only not in names):
        missing = only or "which one could be called"
        raise ApiError(400, f"tool_choice asks for a call, but tools does not have {missing}", "tool_choice")
    return True, only


def _check_results(messages: tuple[Message, ...]) -> None:
    """Raise ApiError for the result of a call that no earlier message made."""
    made = set[str]()
    for number, message in enumerate(messages):
        if message.role == "tool" and message.call_id not in made:
            place = f"messages[{number}].tool_call_id"
            raise ApiError(400, f"{place} names no call of a message before it", place)
        made |= {call.id for call in message.calls}


def _content(value: Any, place: str) -> str:
    """Text, or a list of parts that are all text."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise ApiError(400, f"{place} must be a text", place)
    for part in value:
        if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
            raise ApiError(400, f"{place} may hold parts of the type text only", place, "unsupported_value")
    return "\n".join(part["text"] for part in value)
