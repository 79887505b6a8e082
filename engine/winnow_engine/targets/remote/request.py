"""What a server is asked: messages, tools and sampling as OpenAI's API has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from winnow_engine.core import Sampling
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import Tools


def request(model: str, messages: Sequence[Message], tools: Tools, sampling: Sampling) -> dict[str, Any]:
    """The body of a request for a streamed answer."""
    document: dict[str, Any] = {
        "model": model,
        "messages": [_message(message) for message in messages],
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if sampling.temperature:
        document |= {"top_p": sampling.top_p, "seed": sampling.seed}
    if sampling.stop:
        document["stop"] = list(sampling.stop)
    return document | _tools(tools) if tools else document


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
