"""Reads requests: what would change the answer's meaning and is not supported is refused, other fields are ignored.

Here are chat completions, and what the APIs have in common: the model served, sampling, the format of an answer.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from winnow_engine.chat.complete import DEFAULT_ANSWER, CompletionRequest
from winnow_engine.core import Sampling, Thinking
from winnow_engine.prompting.tools import AnswerFormat
from winnow_engine.untrusted import read_json
from winnow_lsp.http.conversation import read_messages, read_tools
from winnow_lsp.http.fields import ApiError, Fields, typed

_KINDS = ("text", "json_object", "json_schema")
_MOST_SCHEMA = 256 << 10  # characters
_MOST_STOPS = 16
_MOST_LEVELS = 100
_MOST_SEED = 2**32 - 1
UNLIMITED = -1  # a number that some clients send for "as many as there are", or for any seed
LONGEST_ANSWER = 2**31 - 1  # tokens: the context alone limits it
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
class ServedModel:
    """A model's name, and its aliases: other names, or patterns of names such as `claude-*`."""

    name: str
    aliases: tuple[str, ...] = ()

    def asked(self, name: Any) -> str:
        """The name that a request asks for, this model's if it names none. Raises ApiError for another model's."""
        if name is None or name == self.name:
            return self.name
        if isinstance(name, str) and any(fnmatchcase(name, alias) for alias in self.aliases):
            return name
        told = f"there is no model {name!r} here, only {self.name!r}: name that, or serve with --model-alias NAME"
        raise ApiError(404, told, "model", "model_not_found")

    def entry(self, name: str, context: int | None) -> dict[str, Any]:
        """The model as OpenAI and Anthropic describe one, with vLLM's field for the context once that is known."""
        entry = {"id": name, "object": "model", "type": "model", "display_name": name, "owned_by": "winnow"}
        known = {} if context is None else {"max_model_len": context}
        return {**entry, "created": 0, "created_at": "1970-01-01T00:00:00Z", **known}

    def list(self, context: int | None) -> dict[str, Any]:
        """The list of the model's names; patterns are no names."""
        names = [self.name, *(alias for alias in self.aliases if not set(alias) & set("*?["))]
        entries = [self.entry(name, context) for name in names]
        return {"object": "list", "data": entries, "first_id": names[0], "last_id": names[-1], "has_more": False}


def read_format(document: Mapping[str, Any], name: str, place: str = "") -> AnswerFormat | None:
    """The format in the field `name`, None for text. Raises ApiError, which names the field."""
    given = typed(document, name, dict, {"type": "text"}, place)
    field, kind = f"{place}{name}", given.get("type")
    if kind not in _KINDS:
        raise ApiError(400, f"{field}.type must be one of {', '.join(_KINDS)}", f"{field}.type", "unsupported_value")
    if kind == "text":
        return None
    if kind == "json_schema" and name == "response_format" and "schema" not in given:
        given, field = typed(given, kind, dict, {}, f"{field}."), f"{field}.{kind}"
    elif kind == "json_object" and "schema" not in given:
        return AnswerFormat(None, {}, field)
    return AnswerFormat(_schema(given, field), _options(given, field), f"{field}.schema")


def _schema(given: Mapping[str, Any], field: str) -> dict[str, Any]:
    schema: dict[str, Any] | None = given.get("schema")
    if not isinstance(schema, dict):
        raise ApiError(400, f"{field}.schema must be an object", f"{field}.schema")
    size = len(str(schema))
    if size > _MOST_SCHEMA:
        raise ApiError(400, f"{field}.schema has {size:,} characters, over {_MOST_SCHEMA:,}", f"{field}.schema")
    return schema


def _options(given: Mapping[str, Any], field: str) -> dict[str, Any]:
    options = {"name": typed(given, "name", str, "answer", f"{field}.")}
    if description := typed(given, "description", str, "", f"{field}."):
        options["description"] = description
    strict = typed(given, "strict", bool, None, f"{field}.") if given.get("strict") is not None else None
    return options if strict is None else options | {"strict": strict}


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request of any API. `ignored` are fields that do not count."""

    asked: CompletionRequest
    model: str
    stream: bool
    include_usage: bool
    ignored: tuple[str, ...] = ()
    namespaces: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # of tools that are offered by both joined
    user: str | None = None  # whose key came with it


def read_request(body: bytes, model: ServedModel) -> ChatRequest:
    """Parse a request for a chat completion by the one `model` being served. Raises ApiError, which names the field."""
    ignored = set[str]()
    document = read_document(body, model, _CHAT, ignored)
    sampling, limited = read_sampling(document, "stop", "max_completion_tokens", "max_tokens")
    asked = CompletionRequest(
        messages=read_messages(document, ignored),
        sampling=_thinking(document, sampling, ignored),
        limited=limited,
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
    most = read_limit(document, "thinking_token_budget", "thinking_budget_tokens")
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


def read_limit(document: Mapping[str, Any], *names: str) -> int | None:
    """The first limit among these fields, None if all are missing or −1. Raises ApiError."""
    for name in names:
        if document.get(name, UNLIMITED) != UNLIMITED:
            limit = _whole(document, name, 0)
            if limit < 1:
                raise ApiError(400, f"{name} must be at least 1, not {limit}", name)
            return limit
    return None


def _whole(document: Mapping[str, Any], name: str, default: int) -> int:
    """A whole number, which some clients write as 9.0. Raises ApiError."""
    value = typed(document, name, (int, float), default)
    if value % 1:
        raise ApiError(400, f"{name} must be a whole number, not {value}", name)
    return int(value)


def read_sampling(document: Mapping[str, Any], stop: str, *lengths: str, hottest: int = 2) -> tuple[Sampling, bool]:
    """The request's sampling, and True if a length was given, even −1. Raises ApiError.

    `stop` names the field of the stop strings, `lengths` those with the most tokens of the answer.
    """
    limited = any(name in document for name in lengths)
    most = read_limit(document, *lengths) or (LONGEST_ANSWER if limited else DEFAULT_ANSWER)
    temperature = typed(document, "temperature", (int, float), 0.0)
    if temperature > hottest:
        raise ApiError(400, f"temperature must be at most {hottest}", "temperature")
    seed = _whole(document, "seed", UNLIMITED)
    seed = secrets.randbelow(_MOST_SEED) if seed == UNLIMITED else seed % _MOST_SEED
    stops = _stops(document.get(stop, []), stop)
    try:
        top_p = typed(document, "top_p", (int, float), 1.0)
        temperature, top_p = (0.0, 1.0) if top_p == 0 else (temperature, top_p)  # the likeliest token alone
        return Sampling(temperature, top_p, seed, most, stops), limited
    except ValueError as error:  # its message begins with the name of the field
        raise ApiError(400, str(error), str(error).partition(" ")[0]) from error


def _stops(given: Any, name: str) -> tuple[str, ...]:
    stops = [given] if isinstance(given, str) else given
    if not isinstance(stops, list) or len(stops) > _MOST_STOPS or not all(isinstance(one, str) for one in stops):
        raise ApiError(400, f"{name} must be a text, or a list of at most {_MOST_STOPS}", name)
    return tuple(stop for stop in stops if stop)
