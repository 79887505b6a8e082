"""One event of a streamed chat completion, checked: what a server may get wrong is named."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from winnow_engine.errors import TargetProtocolError
from winnow_engine.target.base import Finish
from winnow_engine.target.remote.address import Address
from winnow_engine.target.remote.failures import failure

DONE = b"[DONE]"
_FINISHES: Mapping[str, Finish] = {"stop": "eos", "length": "length"}
_SERVER_ERROR = 500


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the server counted them."""

    prompt: int
    answer: int
    reused: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one event adds. `grew` is also true for tokens that are not shown, such as a model's reasoning."""

    text: str = ""
    grew: bool = False
    finish: Finish | None = None
    usage: Usage | None = None


def read_chunk(data: bytes, address: Address) -> Chunk:
    """The chunk in an event's data. Raises TargetProtocolError, or the named error that the server sent."""
    try:
        document = json.loads(data)
        if isinstance(document, dict) and document.get("error"):
            raise failure(address, _SERVER_ERROR, data)
        return _chunk(document)
    except (ValueError, TypeError, AttributeError, LookupError) as error:
        raise TargetProtocolError(f"{address.host} streams what is no chunk of an answer ({error})") from error


def _chunk(document: dict[str, Any]) -> Chunk:
    usage = _usage(document.get("usage"))
    choices = document["choices"]
    if not choices:
        return Chunk(usage=usage)
    delta = choices[0].get("delta") or {}
    text = _text(delta.get("content"))
    grew = bool(text or delta.get("reasoning_content") or delta.get("reasoning"))
    return Chunk(text, grew, _finish(choices[0].get("finish_reason")), usage)


def _text(content: object) -> str:
    if content is None:
        return ""
    if not isinstance(content, str):
        raise TypeError("its content is no text")
    return content.encode("utf-8", "replace").decode()  # JSON can spell half a surrogate pair, UTF-8 cannot


def _finish(reason: object) -> Finish | None:
    if reason is None:
        return None
    if not isinstance(reason, str) or reason not in _FINISHES:
        raise ValueError(f"it finished for {reason!r}, which was not asked for")
    return _FINISHES[reason]


def _usage(document: dict[str, Any] | None) -> Usage | None:
    if document is None:
        return None
    details = document.get("prompt_tokens_details") or {}
    return Usage(document["prompt_tokens"], document["completion_tokens"], details.get("cached_tokens") or 0)
