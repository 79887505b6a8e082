"""A chat completion request, read strictly: what we do not do is refused by name, never ignored."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from winnow_engine.chat.complete import DEFAULT_ANSWER
from winnow_engine.target.base import Message, Role, Sampling
from winnow_lsp.http.replies import ApiError

_ROLES: Mapping[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_MOST_STOPS = 16
_MOST_SEED = 2**32 - 1

# What changes nothing about the answer, with these values or whatever they are.
_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "n": (1,),
    "logprobs": (False,),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "logit_bias": ({},),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "store": (False,),
}
_IGNORED = {"user", "metadata", "parallel_tool_calls", "safety_identifier", "prompt_cache_key", "service_tier"}
_READ = {
    "model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "top_p",
    "seed", "stop",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What is asked. `limited` says whether the answer's length was given."""

    messages: tuple[Message, ...]
    sampling: Sampling
    limited: bool
    stream: bool
    include_usage: bool


def read_request(body: bytes, model: str) -> ChatRequest:
    """The request in a body, for the one `model` there is. Raises ApiError, which names the field."""
    document = _object(body)
    _check_supported(document)
    if document.get("model", model) != model:
        raise ApiError(404, f"there is no model {document['model']!r} here, only {model!r}", "model", "model_not_found")
    length = _length(document)
    stream = _typed(document, "stream", bool, False)
    options = _typed(document, "stream_options", dict, {}) if stream else {}
    return ChatRequest(
        messages=_messages(document),
        sampling=_sampling(document, DEFAULT_ANSWER if length is None else length),
        limited=length is not None,
        stream=stream,
        include_usage=options.get("include_usage") is True,
    )


def _object(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, f"the body is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise ApiError(400, "the body is not a JSON object")
    return {name: value for name, value in document.items() if value is not None}


def _check_supported(document: Mapping[str, Any]) -> None:
    for name, value in document.items():
        if name in _READ or name in _IGNORED or value in _NEUTRAL.get(name, ()):
            continue
        raise ApiError(400, f"{name} is not supported here: leave it out", name, "unsupported_parameter")


def _messages(document: Mapping[str, Any]) -> tuple[Message, ...]:
    given = _typed(document, "messages", list, [])
    messages = tuple(_message(value, f"messages[{number}]") for number, value in enumerate(given))
    if not any(message.role == "user" and message.content.strip() for message in messages):
        raise ApiError(400, "there is no message of the user's that says anything", "messages")
    return messages


def _message(value: Any, place: str) -> Message:
    if not isinstance(value, dict):
        raise ApiError(400, f"{place} is not an object", place)
    role = value.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise ApiError(400, f"{place}.role must be one of {', '.join(_ROLES)}", f"{place}.role", "unsupported_value")
    for name in value.keys() - {"role", "content"}:
        if value[name] not in (None, [], ""):
            raise ApiError(400, f"{place}.{name} is not supported here", f"{place}.{name}", "unsupported_parameter")
    return Message(_ROLES[role], _content(value.get("content"), f"{place}.content"))


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


def _length(document: Mapping[str, Any]) -> int | None:
    for name in ("max_completion_tokens", "max_tokens"):
        if name in document:
            return int(_typed(document, name, int, 0))
    return None


def _sampling(document: Mapping[str, Any], length: int) -> Sampling:
    temperature = _typed(document, "temperature", (int, float), 0.0)
    seed = _typed(document, "seed", int, secrets.randbelow(_MOST_SEED))
    stop = document.get("stop", [])
    stops = [stop] if isinstance(stop, str) else stop
    if (
        not isinstance(stops, list)
        or len(stops) > _MOST_STOPS
        or not all(isinstance(one, str) and one for one in stops)
    ):
        raise ApiError(400, f"stop must be a text, or a list of at most {_MOST_STOPS}, none of them empty", "stop")
    try:
        top_p = _typed(document, "top_p", (int, float), 1.0)
        return Sampling(temperature, top_p, seed, length, tuple(stops))
    except ValueError as error:  # its message begins with the name of the field
        raise ApiError(400, str(error), str(error).partition(" ")[0]) from error


def _typed(document: Mapping[str, Any], name: str, kind: type | tuple[type, ...], default: Any) -> Any:
    value = document.get(name, default)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ApiError(400, f"{name} is of the wrong type", name)
    return value
