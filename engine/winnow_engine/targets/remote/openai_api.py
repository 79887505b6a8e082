"""Requests to a server as OpenAI's API has them, which Ollama's own API overrides."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from winnow_engine.core import Thinking
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import Tools
from winnow_engine.targets.base import Request
from winnow_engine.targets.remote.address import Address
from winnow_engine.targets.remote.chunks import Chunk, checked, chunk_of
from winnow_engine.targets.remote.framing import Framing, events


@dataclass(frozen=True, slots=True)
class RemotePrompt:
    """A prompt for a server, which applies the chat template itself. Its length is counted or estimated."""

    messages: tuple[Message, ...]
    tools: Tools
    tokens: int

    def __len__(self) -> int:
        return self.tokens


_LENGTH = "max_tokens"
OPTIONAL = ("temperature", "top_p", "seed", "stream_options", "stop", _LENGTH)
"""Fields that some servers or models refuse, beside those of an attempt."""

_BUDGETS = ("thinking_token_budget", "thinking_budget_tokens")  # vLLM's and llama-server's


@dataclass(frozen=True, slots=True)
class Attempt:
    """One way to ask a server: with or without thinking, and with `room` tokens beside the answer's.

    A thought longer than `limit` is stopped, if there is one: by a server that can do so, which then goes on with the
    answer, or else by closing the connection. `softly` also asks the model itself not to think.
    """

    thinking: Thinking
    room: int
    limit: int | None
    softly: bool = False

    @property
    def fields(self) -> Mapping[str, Any]:
        """Fields that switch and limit thinking on vLLM, SGLang, llama-server and Ollama; others may refuse them."""
        wanted = self.thinking == "on"
        fields: dict[str, Any] = {"chat_template_kwargs": {"enable_thinking": wanted, "thinking": wanted}}
        if not wanted:
            fields["reasoning_effort"] = "none"
        return fields | (dict.fromkeys(_BUDGETS, self.limit) if self.limit else {})

    def messages(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages to send."""
        asked = max((n for n, one in enumerate(messages) if one.role == "user"), default=None)
        if asked is None or not self.softly:
            return messages
        soft = replace(messages[asked], content=f"{messages[asked].content} /no_think")
        return (*messages[:asked], soft, *messages[asked + 1 :])


def without(document: Mapping[str, Any], refused: Collection[str]) -> dict[str, Any]:
    """The document without fields that a server refuses. Newer ones have another name for `max_tokens`."""
    sent = {name: value for name, value in document.items() if name not in refused}
    if _LENGTH in document.keys() - sent.keys():
        sent["max_completion_tokens"] = document[_LENGTH]
    return sent


def _message(message: Message) -> dict[str, Any]:
    document: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        document["tool_calls"] = [call.document for call in message.calls]
    return document | ({"tool_call_id": message.call_id} if message.role == "tool" else {})


def _tools(tools: Tools) -> dict[str, Any]:
    only = {"type": "function", "function": {"name": tools.only}}
    document: dict[str, Any] = {"tools": list(tools.definitions)}
    if tools.required:
        document["tool_choice"] = only if tools.only else "required"
    return document if tools.parallel else document | {"parallel_tool_calls": False}


class OpenAiApi:
    """`/v1/chat/completions`: requests to one model on a server, and the chunks of its answer."""

    framing: Framing = staticmethod(events)

    def url(self, address: Address) -> str:
        """The URL of the endpoint."""
        return f"{address.base}/chat/completions"

    def body(self, model: str, request: Request[RemotePrompt], attempt: Attempt) -> dict[str, Any]:
        """The document that asks for an answer, streamed."""
        prompt, sampling = request.prompt, request.sampling
        document: dict[str, Any] = {
            "model": model,
            "messages": [_message(message) for message in attempt.messages(prompt.messages)],
            "max_tokens": sampling.max_tokens + attempt.room,
            "temperature": sampling.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
            **attempt.fields,
        }
        if sampling.temperature:
            document |= {"top_p": sampling.top_p, "seed": sampling.seed}
        if sampling.stop:
            document["stop"] = list(sampling.stop)
        if request.format:
            document["response_format"] = request.format.document
        return document | _tools(prompt.tools) if prompt.tools else document

    def optional(self, attempt: Attempt) -> Collection[str]:
        """The fields of `body` that a server may refuse and that are then left out."""
        return (*attempt.fields, *OPTIONAL)

    def read(self, data: bytes, address: Address, stops: Sequence[str], tools: Tools) -> Chunk:
        """The chunk in one event. Raises TargetProtocolError, or the error that the server sent."""
        return checked(data, address, lambda document: chunk_of(document, stops, tools))
