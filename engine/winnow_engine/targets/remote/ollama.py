"""Ollama's own API, which takes the context's length with each request and can be told to cut nothing.

Its OpenAI-compatible API can do neither: a prompt longer than the context that the server was started with loses its
beginning without a word. The fields are those of `ChatRequest` in Ollama's `api/types.go` (version 0.33).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from winnow_engine.errors import TargetAddressError, WinnowError
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import CallDelta, ToolCall, Tools
from winnow_engine.targets.base import Request
from winnow_engine.targets.remote.address import Address
from winnow_engine.targets.remote.chunks import Chunk, Usage, checked, count_of, finish_of, text_of
from winnow_engine.targets.remote.client import Client
from winnow_engine.targets.remote.framing import lines
from winnow_engine.targets.remote.openai_api import Attempt, OpenAiApi, RemotePrompt
from winnow_engine.untrusted import json_object

# A context that changes makes Ollama load the model again, so it grows in steps and never shrinks.
_LEAST_CONTEXT, _CONTEXT_STEP = 8192, 4096
# Keys and values of a context take memory as soon as it is set, so a model's 128k or more are not claimed unasked.
_MOST_CONTEXT = 32_768
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class OllamaModel:
    """A model on Ollama: the longest context it can have in tokens, and the one it has now; 0 where unknown."""

    longest: int
    now: int

    def limit(self, wanted: int | None) -> int:
        """The context that prompts may use: the one `wanted`, or a usual one, as far as the model has it."""
        limit = wanted or max(_MOST_CONTEXT, self.now)
        return min(limit, self.longest) if self.longest else limit


async def find_ollama(client: Client, model: str) -> OllamaModel | None:
    """Ollama's model, None from other servers. TargetAddressError for one that it runs elsewhere."""
    if not await is_ollama(client):
        return None
    try:
        shown = await client.post(f"{client.address.root}/api/show", {"model": model})
    except WinnowError:
        return None  # other servers have pages with their version too
    if not isinstance(shown, dict):
        return None
    if elsewhere(model, shown):
        raise TargetAddressError(
            f"{model} on {client.address.host} is a model in Ollama's cloud, to which your code would go on: choose "
            "another, or name https://ollama.com/v1 as the target's server"
        )
    return OllamaModel(_longest(shown), await _loaded(client, model) or _configured(shown))


async def is_ollama(client: Client) -> bool:
    """Whether the server says its version as Ollama does."""
    try:
        version = await client.get(f"{client.address.root}/api/version")
    except WinnowError:
        return False
    return isinstance(version, dict) and isinstance(version.get("version"), str)


def elsewhere(model: str, entry: Mapping[str, Any]) -> bool:
    """True for a model that Ollama runs on another machine."""
    return bool(entry.get("remote_host")) or model.lower().endswith((":cloud", "-cloud"))


class OllamaApi(OpenAiApi):
    """`/api/chat`, with a context that holds prompt and answer. What does not fit is refused, and nothing is cut."""

    framing = staticmethod(lines)

    def __init__(self, now: int, limit: int) -> None:
        """`now` is the context that the model has, in tokens, and `limit` the longest it may get."""
        self._context, self._limit = max(_LEAST_CONTEXT, now), limit

    def url(self, address: Address) -> str:
        """As `OpenAiApi.url`."""
        return f"{address.root}/api/chat"

    def body(self, model: str, request: Request[RemotePrompt], attempt: Attempt) -> dict[str, Any]:
        """As `OpenAiApi.body`."""
        prompt, answer = request.prompt, request.sampling.max_tokens + attempt.room
        document: dict[str, Any] = {
            "model": model,
            "messages": _messages(attempt.messages(prompt.messages)),
            "stream": True,
            "think": attempt.thinking == "on",
            "truncate": False,
            "shift": False,
            "options": {"num_ctx": self._grown(len(prompt) + answer), "num_predict": answer, **_sampling(request)},
        }
        if request.format:
            document["format"] = request.format.schema or "json"
        return document | ({"tools": list(prompt.tools.definitions)} if prompt.tools else {})

    def _grown(self, tokens: int) -> int:
        """The context for so many tokens, no shorter than the last one."""
        self._context = max(self._context, -(-tokens // _CONTEXT_STEP) * _CONTEXT_STEP)
        return min(self._context, self._limit)

    def optional(self, attempt: Attempt) -> Collection[str]:
        """As `OpenAiApi.optional`. Ollama refuses `think` for models that cannot."""
        return ("think",)

    def read(self, data: bytes, address: Address, stops: Sequence[str], tools: Tools) -> Chunk:
        """As `OpenAiApi.read`."""
        return checked(data, address, lambda document: _chunk(document, stops, tools))


def _sampling(request: Request[RemotePrompt]) -> dict[str, Any]:
    sampling = request.sampling
    options: dict[str, Any] = {"temperature": sampling.temperature}
    if sampling.temperature:
        options |= {"top_p": sampling.top_p, "seed": sampling.seed}
    return options | ({"stop": list(sampling.stop)} if sampling.stop else {})


def _messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    names = {call.id: call.name for message in messages for call in message.calls}
    return [_message(message, names) for message in messages]


def _message(message: Message, names: Mapping[str, str]) -> dict[str, Any]:
    document: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        document["tool_calls"] = [_call(call) for call in message.calls]
    if message.role == "tool":
        document |= {"tool_call_id": message.call_id, "tool_name": names.get(message.call_id, "")}
    return document


def _call(call: ToolCall) -> dict[str, Any]:
    """A call, whose arguments Ollama wants as an object."""
    arguments = json_object(call.arguments) if call.arguments else None
    given = {"arguments": call.arguments} if arguments is None else arguments
    return {"id": call.id, "function": {"name": call.name, "arguments": given}}


def _chunk(document: dict[str, Any], stops: Sequence[str], tools: Tools) -> Chunk:
    message = document.get("message") or {}
    calls = tuple(_delta(place, entry) for place, entry in enumerate(message.get("tool_calls") or []))
    if calls and not tools:
        raise ValueError("it has tool_calls, which were not asked for")
    text, thought = text_of(message.get("content")), text_of(message.get("thinking"))
    if not document.get("done"):
        return Chunk(text, thought, calls=calls)
    finish, notice = finish_of(document.get("done_reason") or "stop", stops)
    return Chunk(text, thought, finish, _usage(document), calls, notice)


def _delta(place: int, entry: dict[str, Any]) -> CallDelta:
    """A call, which comes as a whole."""
    function = entry["function"]
    index = function.get("index", place)
    return CallDelta(int(index), text_of(entry.get("id")), text_of(function["name"]), json.dumps(function["arguments"]))


def _usage(document: Mapping[str, Any]) -> Usage | None:
    read, written = count_of(document, "prompt_eval_count"), count_of(document, "eval_count")
    return Usage(read, written) if read and written else None


async def _loaded(client: Client, model: str) -> int:
    """The context with which a model is loaded; 0 if it is not, or an old Ollama does not say."""
    try:
        running = await client.get(f"{client.address.root}/api/ps")
        found = [entry for entry in running["models"] if model in (entry.get("model"), entry.get("name"))]
    except (WinnowError, TypeError, LookupError, AttributeError):
        return 0
    return count_of(found[0], "context_length") if found else 0


def _longest(shown: Mapping[str, Any]) -> int:
    """The context that a model was trained for."""
    information = shown.get("model_info")
    known = information if isinstance(information, dict) else {}
    return count_of(known, f"{known.get('general.architecture')}.context_length")


def _configured(shown: Mapping[str, Any]) -> int:
    """The context in a model's file."""
    found = _NUM_CTX.search(str(shown.get("parameters", "")))
    return int(found[1][:9]) if found else 0
