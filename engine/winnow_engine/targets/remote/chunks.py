"""One event of a streamed chat completion, checked, so that what a server gets wrong has a name."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from winnow_engine.core import Finish
from winnow_engine.errors import TargetProtocolError
from winnow_engine.prompting.tools import CallDelta, Tools
from winnow_engine.targets.remote.address import Address
from winnow_engine.targets.remote.failures import failure
from winnow_engine.untrusted import read_json

DONE = b"[DONE]"
_FINISHES: Mapping[str, Finish] = {"stop": "eos", "length": "length", "tool_calls": "eos"}
_STOPPED_BY = ("stop_reason", "matched_stop")  # vLLM's and SGLang's: the stop string, or else a token or null
_THOUGHTS = ("reasoning_content", "reasoning")  # of llama-server, SGLang and older vLLM; of vLLM, Ollama and OpenRouter
_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class Usage:
    """The numbers of tokens, as the server counted them. `answer` includes those of a `thought`."""

    prompt: int
    answer: int
    reused: int = 0
    thought: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """The text of one event, and its thought where the server tells these apart."""

    text: str = ""
    thought: str = ""
    finish: Finish | None = None
    usage: Usage | None = None
    calls: tuple[CallDelta, ...] = ()

    @property
    def grew(self) -> bool:
        """True if there are new tokens."""
        return bool(self.text or self.thought or self.calls)


def read_chunk(data: bytes, address: Address, stops: Sequence[str], tools: Tools) -> Chunk:
    """The chunk in an event's data, for a request with the stop strings `stops` and with `tools`.

    Raises TargetProtocolError, or the error that the server sent.
    """
    return checked(data, address, lambda document: _chunk(document, stops, tools))


def checked(data: bytes, address: Address, read: Callable[[dict[str, Any]], Chunk]) -> Chunk:
    """The chunk that `read` makes of an event's JSON. Raises what `read_chunk` does."""
    try:
        document = read_json(data)
        if isinstance(document, dict) and document.get("error"):
            raise failure(address, _SERVER_ERROR, data)
        return read(document)
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        raise TargetProtocolError(
            f"{address.host} streams something that is no chunk of an answer ({error})"
        ) from error


def _chunk(document: dict[str, Any], stops: Sequence[str], tools: Tools) -> Chunk:
    usage = _usage(document.get("usage"))
    choices = document["choices"]
    if not choices:
        return Chunk(usage=usage)
    delta = choices[0].get("delta") or {}
    text, calls = text_of(delta.get("content")), tuple(_calls(delta.get("tool_calls") or []))
    thought = next((one for one in map(delta.get, _THOUGHTS) if isinstance(one, str) and one), "")
    finish = _finish(choices[0], stops)
    if (calls or choices[0].get("finish_reason") == "tool_calls") and not tools:
        raise ValueError("it has tool_calls, which were not asked for")
    return Chunk(text, text_of(thought), finish, usage, calls)


def _calls(entries: list[Any]) -> Iterator[CallDelta]:
    """The pieces of calls. Where a server does not number them, their position does."""
    for place, entry in enumerate(entries):
        function = entry.get("function") or {}
        arguments = function.get("arguments")
        text = json.dumps(arguments) if isinstance(arguments, dict) else text_of(arguments)
        index = entry.get("index")
        number = place if index is None else int(index)
        yield CallDelta(number, text_of(entry.get("id")), text_of(function.get("name")), text)


def text_of(content: object) -> str:
    """Text of a message, "" for null. Raises TypeError for anything else."""
    if content is None:
        return ""
    if not isinstance(content, str):
        raise TypeError("its content is no text")
    return content.encode("utf-8", "replace").decode()  # JSON can spell half a surrogate pair, UTF-8 cannot


def _finish(choice: Mapping[str, Any], stops: Sequence[str]) -> Finish | None:
    reason = choice.get("finish_reason")
    if reason is None:
        return None
    if not isinstance(reason, str) or reason not in _FINISHES:
        raise ValueError(f"it finished for {reason!r}, which was not asked for")
    return "stop" if reason == "stop" and stops and _may_be_stopped(choice) else _FINISHES[reason]


def _may_be_stopped(choice: Mapping[str, Any]) -> bool:
    """True if a stop string may have ended the answer: the server says so, or says nothing."""
    said = [choice[name] for name in _STOPPED_BY if name in choice]
    return not said or any(isinstance(one, str) for one in said)


def _usage(document: dict[str, Any] | None) -> Usage | None:
    if document is None:
        return None
    read, written = (document.get(f"{part}_tokens_details") or {} for part in ("prompt", "completion"))
    reused, thought = read.get("cached_tokens") or 0, written.get("reasoning_tokens") or 0
    return Usage(document["prompt_tokens"], document["completion_tokens"], reused, thought)
