"""The messages and tools of a request: what the APIs have in common, and how chat completions write them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from winnow_engine.prompting.messages import Message, Role
from winnow_engine.prompting.tools import NO_TOOLS, ToolCall, Tools
from winnow_engine.targets.text_stream import without_thought
from winnow_engine.untrusted import json_object
from winnow_lsp.http.fields import ApiError, Fields, object_at, typed

R = TypeVar("R")

_ROLES: Mapping[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool",
}  # fmt: skip
_NAME = re.compile(r"[\w.:/-]+")
# Messages hold more than texts: these fields do, or their text is not in `content`.
_MEANT = frozenset({"images", "function_call"})
_SAID = Fields(frozenset({"role", "content"}), _MEANT)
_FIELDS: Mapping[Role, Fields] = {
    "system": _SAID,
    "user": _SAID,
    # Thoughts of earlier turns never become part of a prompt, and nobody need hear that they do not count.
    "assistant": Fields(
        frozenset({"role", "content", "tool_calls", "refusal", "reasoning_content", "reasoning"}), _MEANT
    ),
    "tool": Fields(frozenset({"role", "content", "tool_call_id", "name"}), _MEANT),
}


def read_messages(document: Mapping[str, Any], ignored: set[str]) -> tuple[Message, ...]:
    """The conversation of a chat completion request. Raises ApiError, which names the field."""
    given = typed(document, "messages", list, None)
    messages = [_message(value, f"messages[{number}]", ignored) for number, value in enumerate(given)]
    places = [f"messages[{number}].tool_call_id" for number in range(len(messages))]
    return checked(messages, places, "messages")


def read_tools(document: Mapping[str, Any], ignored: set[str]) -> Tools:
    """The tools on offer, none if the choice is `none`. Raises ApiError, which names the field."""
    given = functions_among(typed(document, "tools", list, []), "tools", ("function", None), ignored)
    definitions = [definition(_function(value, place), f"{place}.function") for place, value in given]
    choice = document.get("tool_choice") or "auto"
    only = None if choice in ("none", "auto", "required") else str(_function(choice, "tool_choice")["name"])
    parallel = typed(document, "parallel_tool_calls", bool, True)
    return offered(definitions, "named" if only else str(choice), only, parallel)


def checked(messages: Sequence[Message], places: Sequence[str], name: str) -> tuple[Message, ...]:
    """The messages, given in the field `name`; `places` name where each says which call it is the result of.

    Raises ApiError if the user says nothing in them, or for the result of a call that no earlier message made.
    """
    made = set[str]()
    for message, place in zip(messages, places, strict=True):
        if message.role == "tool" and message.call_id not in made:
            raise ApiError(400, f"{place} names no call of a message before it", place)
        made |= {call.id for call in message.calls}
    if not any(message.role == "user" and message.content.strip() for message in messages):
        raise ApiError(400, "no user message contains text", name)
    return tuple(messages)


def offered(definitions: Sequence[Mapping[str, Any]], choice: str, only: str | None, parallel: bool) -> Tools:
    """The tools to offer, by a `choice`: none, auto, required, or named for `only`. Raises ApiError."""
    if choice == "none":
        return NO_TOOLS
    names = [one["function"]["name"] for one in definitions]
    if choice != "auto" and (not names or (only is not None and only not in names)):
        missing = only or "one that could be called"
        raise ApiError(400, f"tool_choice asks for a call, but tools does not have {missing}", "tool_choice")
    return Tools(tuple(definitions), choice != "auto", only, parallel)


def definition(function: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    """The definition of a tool from its name, description and parameters. Raises ApiError."""
    typed(function, "description", str, "", f"{place}.")
    typed(function, "parameters", dict, {}, f"{place}.")
    return {"type": "function", "function": named(function, place)}


def named(function: Mapping[str, Any], place: str) -> dict[str, Any]:
    """A function's description, which must have a name. Raises ApiError."""
    if not _NAME.fullmatch(typed(function, "name", str, "", f"{place}.")):
        where = f"{place}.name"
        raise ApiError(400, f"{where} is missing, or has other characters than letters, digits and _ - . : /", where)
    return {name: inner for name, inner in function.items() if inner is not None}


def identifier(document: Mapping[str, Any], name: str, place: str) -> str:
    """The id of a call, which must not be empty. Raises ApiError."""
    found = str(typed(document, name, str, "", f"{place}."))
    if not found:
        raise ApiError(400, f"{place}.{name} is missing", f"{place}.{name}")
    return found


def chosen(value: Any, name: str, choices: Mapping[str, R], place: str) -> R:
    """The choice that the field `name` of an object names. Raises ApiError."""
    said = object_at(value, place).get(name)
    if not isinstance(said, str) or said not in choices:
        where = f"{place}.{name}"
        raise ApiError(400, f"{where} must be one of {', '.join(choices)}", where, "unsupported_value")
    return choices[said]


def functions_among(
    tools: Sequence[Any], name: str, kinds: Sequence[str | None], ignored: set[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The tools of these types with their places in the field `name`. Others are left out and named in `ignored`."""
    for number, tool in enumerate(tools):
        place = f"{name}[{number}]"
        kind = object_at(tool, place).get("type")
        if kind in kinds:
            yield place, tool
        else:
            ignored.add(f"{name}.{kind}")


def text_of(value: Any, place: str, kinds: Sequence[str] = ("text",)) -> str:
    """Text, or the text of a list of parts of these kinds; a refusal is text, too. Raises ApiError."""
    if value is None or isinstance(value, str):
        return value or ""
    if not isinstance(value, list):
        raise ApiError(400, f"{place} must be a text", place)
    texts = list[str]()
    for part in value:
        kind = object_at(part, place).get("type")
        if kind not in (*kinds, "refusal"):
            raise unreadable(kind, f"a part of {place}", place)
        texts.append(typed(part, "refusal" if kind == "refusal" else "text", str, "", f"{place}."))
    return "\n".join(texts)


def unreadable(kind: Any, place: str, param: str) -> ApiError:
    """The refusal of a part that is no text."""
    message = f"{place} is of the type {kind}: only text is read here, no images, documents or sound"
    return ApiError(400, message, param, "unsupported_value")


def _message(value: Any, place: str, ignored: set[str]) -> Message:
    role = chosen(value, "role", _ROLES, place)
    _FIELDS[role].check(value, ignored, f"{place}.")
    content, call_id = text_of(value.get("content"), f"{place}.content"), ""
    if role == "tool":
        call_id = typed(value, "tool_call_id", str, "", f"{place}.")
    if role != "assistant":
        return Message(role, content, call_id=call_id)
    given = typed(value, "tool_calls", list, [], f"{place}.")
    calls = tuple(_call(one, f"{place}.tool_calls[{number}]") for number, one in enumerate(given))
    return Message(role, without_thought(content or typed(value, "refusal", str, "", f"{place}.")), calls)


def arguments_of(text: str) -> str:
    """A call's arguments as a JSON object. A call that was cut off comes back, too, and must not end a conversation."""
    return json.dumps({"arguments": text}) if json_object(text) is None else text or "{}"


def custom_call(item: Mapping[str, Any], call_id: str, name: str, place: str) -> ToolCall:
    """A call of a custom tool, whose arguments are a text. Raises ApiError."""
    return ToolCall(call_id, name, json.dumps({"input": typed(item, "input", str, "", f"{place}.")}))


def _call(value: Any, place: str) -> ToolCall:
    if isinstance(value, dict) and value.get("type") == "custom":
        custom = named(typed(value, "custom", dict, {}, f"{place}."), f"{place}.custom")
        return custom_call(custom, identifier(value, "id", place), custom["name"], f"{place}.custom")
    function = _function(value, place)
    arguments = arguments_of(typed(function, "arguments", str, "", f"{place}.function."))
    return ToolCall(identifier(value, "id", place), function["name"], arguments)


def _function(value: Any, place: str) -> dict[str, Any]:
    if not isinstance(value, dict) or value.get("type", "function") != "function":
        raise ApiError(400, f"{place} must be of the type function", place, "unsupported_value")
    return named(typed(value, "function", dict, {}, f"{place}."), f"{place}.function")
