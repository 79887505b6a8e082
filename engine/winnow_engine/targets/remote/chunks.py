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
from winnow_engine.targets.remote.failures import failure, short
from winnow_engine.untrusted import read_json

_FINISHES: Mapping[str, Finish] = {
    **dict.fromkeys(("stop", "tool_calls", "function_call", "eos", "eos_token", "end_turn", "stop_sequence"), "eos"),
    **dict.fromkeys(("length", "max_tokens", "max_output_tokens", "model_length"), "length"),
}  # fmt: skip
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
    """Text, thought, calls and end of one event; `notice` tells of a `finish` for an unusual reason."""

    text: str = ""
    thought: str = ""
    finish: Finish | None = None
    usage: Usage | None = None
    calls: tuple[CallDelta, ...] = ()
    notice: str = ""

    @property
    def grew(self) -> bool:
        """True if there are new tokens."""
        return bool(self.text or self.thought or self.calls)


def checked(data: bytes, address: Address, read: Callable[[dict[str, Any]], Chunk]) -> Chunk:
    """The chunk that `read` makes of an event's JSON. TargetProtocolError, or the error that the server sent."""
    try:
        document = read_json(data)
        if isinstance(document, dict) and _is_error(document):
            raise failure(address, _SERVER_ERROR, data)
        return read(document)
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError) as error:
        raise TargetProtocolError(
            f"{address.host} streams something that is no chunk of an answer ({error})"
        ) from error


def _is_error(document: Mapping[str, Any]) -> bool:
    """Whether a document is an error, which some servers do not call so."""
    said = document.get("message") or document.get("detail")
    return bool(document.get("error")) or (isinstance(said, str) and "choices" not in document)


def chunk_of(document: dict[str, Any], stops: Sequence[str], tools: Tools) -> Chunk:
    """The chunk in a document, which is the whole answer of a server that does not stream."""
    usage, choices = _usage(document.get("usage")), document.get("choices")
    if not choices:
        return Chunk(usage=usage)
    choice = choices[0] or {}
    delta = choice.get("delta") or choice.get("message") or {}
    (text, part), calls = _parts(delta.get("content")), tuple(_calls(delta.get("tool_calls") or []))
    thought = next((one for one in map(delta.get, _THOUGHTS) if isinstance(one, str) and one), part)
    finish, notice = finish_of(choice.get("finish_reason"), stops if _may_be_stopped(choice) else ())
    if calls and not tools:
        raise ValueError("it has tool_calls, which were not asked for")
    return Chunk(text, text_of(thought), finish, usage, calls, notice)


def _parts(content: object) -> tuple[str, str]:
    """The text and the thought of a content, which may be a list of parts."""
    if not isinstance(content, list):
        return text_of(content), ""
    told = {"text": "", "thinking": ""}
    for part in content:
        part = {"text": part} if isinstance(part, str) else part
        kind = "thinking" if part.get("type") in ("thinking", "reasoning") else "text"
        inner = part.get("text") or part.get(kind)
        told[kind] += _parts(inner)[0]
    return told["text"], told["thinking"]


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


def finish_of(reason: Any, stops: Sequence[str]) -> tuple[Finish | None, str]:
    """The finish that a server's reason stands for, and what is to be said of it; None where the answer goes on."""
    if not reason:
        return None, ""
    known = str(reason).lower()
    if known in ("stop", "stop_sequence") and stops:
        return "stop", ""
    if known in _FINISHES:
        return _FINISHES[known], ""
    by = "its content filter" if known == "content_filter" else f"a reason of its own: {short(str(reason))}"
    return "eos", f"the target's server ended the answer for {by}"


def _may_be_stopped(choice: Mapping[str, Any]) -> bool:
    """True if a stop string may have ended the answer: the server says so, or says nothing."""
    said = [choice[name] for name in _STOPPED_BY if name in choice]
    return not said or any(isinstance(one, str) for one in said)


def _usage(document: Any) -> Usage | None:
    read, written = count_of(document, "prompt_tokens"), count_of(document, "completion_tokens")
    if not read or not written:
        return None
    reused = count_of(document.get("prompt_tokens_details"), "cached_tokens")
    return Usage(read, written, reused, count_of(document.get("completion_tokens_details"), "reasoning_tokens"))


def count_of(document: Any, name: str) -> int:
    """A number of tokens, 0 where there is none."""
    value = document.get(name) if isinstance(document, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
