"""Reads requests: what would change the answer's meaning and is not supported is refused, other fields are ignored.

Here is what the APIs have in common, and chat completions.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from winnow_engine.chat.complete import DEFAULT_ANSWER, CompletionRequest
from winnow_engine.core import Sampling, Thinking
from winnow_engine.untrusted import read_json
from winnow_lsp.http.conversation import read_messages, read_tools
from winnow_lsp.http.errors import ApiError
from winnow_lsp.http.fields import Fields, typed
from winnow_lsp.http.formats import read_format
from winnow_lsp.http.served_model import ServedModel

_MOST_STOPS = 16
_MOST_LEVELS = 100
_MOST_SEED = 2**32 - 1
UNLIMITED = -1
"""A number that some clients send for "as many as there are", or for any seed."""
_SWITCHES = {"enable_thinking", "thinking"}
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")

GUIDED = frozenset({
    "grammar", "json_schema", "structured_outputs", "guided_json", "guided_regex", "guided_choice", "guided_grammar",
})  # fmt: skip
"""Fields of vLLM and llama-server for the form of an answer."""

_CHAT = Fields(
    read=frozenset({
        "model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "temperature", "top_p",
        "seed", "stop", "tools", "tool_choice", "parallel_tool_calls", "reasoning_effort", "chat_template_kwargs",
        "thinking_token_budget", "thinking_budget_tokens", "response_format",
    }),
    refused=frozenset({
        "n", "logprobs", "top_logprobs", "logit_bias", "functions", "function_call", "modalities",
        "audio", "documents", "continue_final_message",
    }) | GUIDED,
    neutral={
        "n": (1,),
        "logprobs": (False,),
        "top_logprobs": (0,),
        "function_call": ("none", "auto"),
        "frequency_penalty": (0,),
        "presence_penalty": (0,),
        "modalities": (["text"],),
        "store": (False,),
        "continue_final_message": (False,),
    },
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request of any API, streamed or not. `ignored` names fields that do not count, `model` the model as asked for.

    `namespaces` has the namespace and the own name of tools that are offered by both joined. `user` is whose key came
    with it, where users have keys.
    """

    asked: CompletionRequest
    model: str
    stream: bool
    include_usage: bool
    ignored: tuple[str, ...] = ()
    namespaces: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    user: str | None = None


def read_request(body: bytes, model: ServedModel) -> ChatRequest:
    """Parse a request for a chat completion by the one `model` being served. Raises ApiError, which names the field."""
    ignored = set[str]()
    document = read_document(body, model, _CHAT, ignored)
    length = answer_length(document, "max_completion_tokens", "max_tokens")
    asked = CompletionRequest(
        messages=read_messages(document, ignored),
        sampling=_thinking(document, read_sampling(document, length, "stop"), ignored),
        limited=length is not None,
        tools=read_tools(document, ignored),
        format=read_format(document, "response_format"),
    )
    return ChatRequest(asked, document["model"], *read_stream(document), tuple(sorted(ignored)))


def read_stream(document: Mapping[str, Any]) -> tuple[bool, bool]:
    """True if the answer is to be streamed, and if its cost is to end the stream. Raises ApiError."""
    stream = typed(document, "stream", bool, False)
    options = typed(document, "stream_options", dict, {}) if stream else {}
    return stream, options.get("include_usage") is True


def _thinking(document: Mapping[str, Any], sampling: Sampling, ignored: set[str]) -> Sampling:
    """Thinking and its limit, in the fields of OpenAI, Ollama, vLLM and llama-server. Raises ApiError."""
    given = typed(document, "chat_template_kwargs", dict, {})
    ignored |= given.keys() - _SWITCHES
    told = {name: typed(given, name, bool, True, "chat_template_kwargs.") for name in given.keys() & _SWITCHES}
    thinking = with_effort(typed(document, "reasoning_effort", str, ""))
    if told:
        thinking = "on" if all(told.values()) else "off"
    most = answer_length(document, "thinking_token_budget", "thinking_budget_tokens")
    return replace(sampling, thinking=thinking, thinking_tokens=most or sampling.thinking_tokens)


def with_effort(effort: str) -> Thinking:
    """The meaning of a reasoning effort: no thought, a thought, or, if none is given, the target's habit."""
    if not effort:
        return "auto"
    return "off" if effort in ("none", "minimal") else "on"


def read_document(body: bytes, model: ServedModel, fields: Fields, ignored: set[str]) -> dict[str, Any]:
    """The fields of a request for `model` that are given, and `model`. Raises ApiError for those that are refused."""
    try:
        text = body.decode()
        document = read_json(text)
    except ValueError as error:
        raise ApiError(400, f"the body is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise ApiError(400, "the body is not a JSON object")
    _check_depth(document)
    if _SURROGATE.search(text):
        _check_characters(document)
    given = {name: value for name, value in document.items() if value is not None}
    fields.check(given, ignored)
    return given | {"model": model.asked(given.get("model"))}


def _check_depth(document: dict[str, Any]) -> None:
    """Raise ApiError for a document that nests so deeply that writing it out again might fail."""
    level, depth = list[Any]([document]), 0
    while level:
        depth += 1
        if depth > _MOST_LEVELS:
            raise ApiError(400, f"the body is over {_MOST_LEVELS} levels deep")
        inner = (value.values() if isinstance(value, dict) else value for value in level)
        level = [value for values in inner for value in values if isinstance(value, dict | list)]


def _check_characters(document: dict[str, Any]) -> None:
    """Raise ApiError if an escape stands for half a character, which no text may hold."""
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ApiError(400, "the body has half of a surrogate pair (\\ud800 to \\udfff) on its own") from None


def answer_length(document: Mapping[str, Any], *names: str) -> int | None:
    """The most tokens of the answer, from the first field that says it. Raises ApiError."""
    for name in names:
        if document.get(name, UNLIMITED) != UNLIMITED:
            length = _whole(document, name, 0)
            if length < 1:
                raise ApiError(400, f"{name} must be at least 1, not {length}", name)
            return length
    return None


def _whole(document: Mapping[str, Any], name: str, default: int) -> int:
    """A whole number, which some clients write as 9.0. Raises ApiError."""
    value = typed(document, name, (int, float), default)
    if value % 1:
        raise ApiError(400, f"{name} must be a whole number, not {value}", name)
    return int(value)


def read_sampling(document: Mapping[str, Any], length: int | None, stop: str) -> Sampling:
    """The request's sampling; `stop` names the field of the stop strings. Raises ApiError."""
    temperature = typed(document, "temperature", (int, float), 0.0)
    seed = _whole(document, "seed", UNLIMITED)
    seed = secrets.randbelow(_MOST_SEED) if seed == UNLIMITED else seed % _MOST_SEED
    stops = _stops(document.get(stop, []), stop)
    try:
        top_p = typed(document, "top_p", (int, float), 1.0)
        temperature, top_p = (0.0, 1.0) if top_p == 0 else (temperature, top_p)  # the likeliest token alone
        return Sampling(temperature, top_p, seed, DEFAULT_ANSWER if length is None else length, stops)
    except ValueError as error:  # its message begins with the name of the field
        raise ApiError(400, str(error), str(error).partition(" ")[0]) from error


def _stops(given: Any, name: str) -> tuple[str, ...]:
    stops = [given] if isinstance(given, str) else given
    if not isinstance(stops, list) or len(stops) > _MOST_STOPS or not all(isinstance(one, str) for one in stops):
        raise ApiError(400, f"{name} must be a text, or a list of at most {_MOST_STOPS}", name)
    return tuple(stop for stop in stops if stop)
