"""A request as OpenAI's API has it: messages, tools and sampling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import Tools
from winnow_engine.targets.base import Request


@dataclass(frozen=True, slots=True)
class RemotePrompt:
    """A prompt for a server, which applies the chat template itself. Its length is counted or estimated."""

    messages: tuple[Message, ...]
    tools: Tools
    tokens: int

    def __len__(self) -> int:
        return self.tokens


def request_body(model: str, request: Request[RemotePrompt]) -> dict[str, Any]:
    """The body of a request for an answer streamed by `model`."""
    prompt, sampling = request.prompt, request.sampling
    document: dict[str, Any] = {
        "model": model,
        "messages": [_message(message) for message in prompt.messages],
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if sampling.temperature:
        document |= {"top_p": sampling.top_p, "seed": sampling.seed}
    if sampling.stop:
        document["stop"] = list(sampling.stop)
    return document | _tools(prompt.tools) if prompt.tools else document


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
