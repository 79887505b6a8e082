"""The forms in which models write calls of tools.

Hermes, Qwen: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`. Qwen3-Coder: `<tool_call><function=NAME>` and
`<parameter=KEY>` inside. Llama: the object alone, with `parameters`. Qwen2.5-Coder is told the first form and writes
the object alone, in a block of JSON, or in two pairs of braces, which is what the template of its 1.5B shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import product
from typing import Any

from winnow_engine.errors import NotJsonError
from winnow_engine.prompting.tools import Tools
from winnow_engine.untrusted import read_json

_FENCES = ("", "```", "```json", "```xml")
_TAGS = ("", "<tool_call>", "<tools>", "<function_call>")
_BODIES = ('{"name":', '{"arguments":', '{"parameters":', '{{"name":', "<function=")
_LEADS = tuple("".join(parts) for parts in product(_FENCES, _TAGS, _BODIES))

_SPACE = re.compile(r"\s+")
_FRAME = re.compile(r"\s*(?P<fence>```(?:json|xml)?)?\s*(?:<(?P<tag>\w+)>)?\s*(?P<extra>\{(?=\s*\{))?\s*")
# A lead has at most 40 characters; text with more white space in it than this leaves room for is no call.
_WINDOW = 120

_FUNCTION = re.compile(r"<function=([^>\n]+)>")
_PARAMETER = re.compile(r"\s*<parameter=([^>\n]+)>\n?(.*?)\n?</parameter>", re.DOTALL)


def opens(text: str) -> bool | None:
    """True if a call begins here; None if more text is needed to tell."""
    compact = _SPACE.sub("", text[:_WINDOW])
    if any(compact.startswith(lead) for lead in _LEADS):
        return True
    return None if len(text) < _WINDOW and any(lead.startswith(compact) for lead in _LEADS) else False


def frame(text: str) -> tuple[int, list[str]]:
    """Offset of the body of the call that `text` opens, and the closers of the frame around it, in order."""
    match = _FRAME.match(text)
    assert match is not None, text
    closers = ["}" if match["extra"] else "", f"</{match['tag']}>" if match["tag"] else "", match["fence"] and "```"]
    return match.end(), [closer for closer in closers if closer]


def terminator(body: str) -> str:
    """The text that ends a body beginning like this. It may also occur inside the body."""
    return "</function>" if body.startswith("<") else "}"


def decoded(body: str, tools: Tools) -> tuple[str, str] | None:
    """The function that a body calls and its arguments, a JSON object as text; None if the body goes on.

    Raises ValueError if the body is malformed, or calls a tool that is not on offer.
    """
    if body.startswith("<"):
        return _from_tags(body, tools)
    try:
        document = read_json(body, strict=False)  # accepts line breaks in strings
    except NotJsonError as error:
        if error.unfinished:
            return None
        raise
    return _from_object(document, tools)


def _from_object(document: dict[str, Any], tools: Tools) -> tuple[str, str]:
    name, arguments = document.get("name"), document.get("arguments", document.get("parameters", {}))
    if isinstance(arguments, str):
        arguments = _typed(arguments, None)
    if not isinstance(name, str) or tools.parameters(name) is None or not isinstance(arguments, dict):
        raise ValueError("no call of a tool on offer")
    return name, json.dumps(arguments, ensure_ascii=False)


def _from_tags(body: str, tools: Tools) -> tuple[str, str] | None:
    function, arguments = _FUNCTION.match(body), dict[str, Any]()
    schemas = tools.parameters(function[1]) if function else None
    if function is None or schemas is None:
        raise ValueError("no call of a tool on offer")
    end = function.end()
    while found := _PARAMETER.match(body, end):
        end, arguments[found[1]] = found.end(), _typed(found[2], schemas.get(found[1]))
    return (function[1], json.dumps(arguments, ensure_ascii=False)) if body[end:].strip() == "</function>" else None


def _typed(value: str, schema: object) -> Any:
    """A parameter's value: JSON, unless its schema says that it is text or it is no JSON."""
    if isinstance(schema, Mapping) and schema.get("type") == "string":
        return value
    try:
        return read_json(value)
    except NotJsonError:
        return value
