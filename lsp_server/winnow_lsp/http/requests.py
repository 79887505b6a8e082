"""Reads chat completion requests strictly: an unsupported field is refused by name, never ignored."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from winnow_engine.chat.complete import DEFAULT_ANSWER, CompletionRequest
from winnow_engine.core import Sampling
from winnow_lsp.http.conversation import read_messages, read_tools
from winnow_lsp.http.fields import typed
from winnow_lsp.http.replies import ApiError

_MOST_STOPS = 16
_MOST_SEED = 2**32 - 1

# Fields that change nothing about the answer, with these values or with any.
_NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "n": (1,),
    "logprobs": (False,),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "logit_bias": ({},),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "store": (False,),
}
_IGNORED = {"user", "metadata", "safety_identifier", "prompt_cache_key", "service_tier"}
_READ = {
    "model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "top_p",
    "seed", "stop", "tools", "tool_choice", "parallel_tool_calls",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What is asked, and whether the answer is streamed."""

    asked: CompletionRequest
    stream: bool
    include_usage: bool


def read_request(body: bytes, model: str) -> ChatRequest:
    """Parse a request for the one `model` being served. Raises ApiError, which names the field."""
    document = _object(body)
    _check_supported(document)
    if document.get("model", model) != model:
        raise ApiError(404, f"there is no model {document['model']!r} here, only {model!r}", "model", "model_not_found")
    length = _length(document)
    asked = CompletionRequest(
        messages=read_messages(document),
        sampling=_sampling(document, DEFAULT_ANSWER if length is None else length),
        limited=length is not None,
        tools=read_tools(document),
    )
    stream = typed(document, "stream", bool, False)
    options = typed(document, "stream_options", dict, {}) if stream else {}
    return ChatRequest(asked, stream, options.get("include_usage") is True)


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


def _length(document: Mapping[str, Any]) -> int | None:
    for name in ("max_completion_tokens", "max_tokens"):
        if name in document:
            return int(typed(document, name, int, 0))
    return None


def _sampling(document: Mapping[str, Any], length: int) -> Sampling:
    temperature = typed(document, "temperature", (int, float), 0.0)
    seed = typed(document, "seed", int, secrets.randbelow(_MOST_SEED))
    stop = document.get("stop", [])
    stops = [stop] if isinstance(stop, str) else stop
    if (
        not isinstance(stops, list)
        or len(stops) > _MOST_STOPS
        or not all(isinstance(one, str) and one for one in stops)
    ):
        raise ApiError(400, f"stop must be a text, or a list of at most {_MOST_STOPS}, none of them empty", "stop")
    try:
        top_p = typed(document, "top_p", (int, float), 1.0)
        return Sampling(temperature, top_p, seed, length, tuple(stops))
    except ValueError as error:  # its message begins with the name of the field
        raise ApiError(400, str(error), str(error).partition(" ")[0]) from error
