"""Separates a model's text, while it streams, into what it says and what it calls. The calls' markup is not shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

from winnow_engine.core import TextSink
from winnow_engine.errors import NotJsonError
from winnow_engine.prompting.tools import Tools
from winnow_engine.untrusted import read_json

_FENCES = ("", "```", "```json", "```xml")
_TAGS = ("", "<tool_call>", "<seed:tool_call>", "<tools>", "<function_call>")
_BODIES = ('{"name":', '{"arguments":', '{"parameters":', '{{"name":', "<function=")
_LEADS = tuple("".join(parts) for parts in product(_FENCES, _TAGS, _BODIES))

_SPACE = re.compile(r"\s+")
_FRAME = re.compile(r"\s*(?P<fence>```(?:json|xml)?)?\s*(?:<(?P<tag>[\w:]+)>)?\s*(?P<extra>\{(?=\s*\{))?\s*")
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
    """The function and arguments (a JSON object) of a body; None if it goes on. ValueError if malformed."""
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


_FIRST = re.compile(r"[<`{]")  # what any form of a call may begin with

WholeCallSink = Callable[[str, str], None]
"""Takes a function's name and its arguments."""


class CallReader:
    """Passes on text and whole calls of `tools`, however the text is cut; what is no valid call is text."""

    def __init__(self, tools: Tools, on_text: TextSink, on_call: WholeCallSink) -> None:
        self._tools, self._on_text, self._on_call = tools, on_text, on_call
        self._held = ""
        self._step = self._say  # how to go on with what is held
        self._tried = 0  # the body does not end before this offset
        self._closers: list[str] = []  # of frames whose calls have been passed on
        self._fresh = True  # nothing has been said yet, or since the last call
        self._calls = 0

    def feed(self, text: str) -> None:
        """Take in more text."""
        self._held += text
        while self._step():
            pass

    def end(self) -> None:
        """Pass on what is held back: there is no more text."""
        while self._held.strip() and self._step != self._close:
            self._give_up()
            self.feed("")
        if not self._calls:
            self._show(len(self._held))

    def _say(self) -> bool:
        """Show what cannot be part of a call. Returns whether a call has begun."""
        start, sure = self._next_call()
        self._show(len(self._held[:start].rstrip()))
        if sure:
            self._tried, self._step = 0, self._call
        return sure

    def _next_call(self) -> tuple[int, bool]:
        """Offset in the held text at which a call begins or may begin, and True if it surely does."""
        for match in _FIRST.finditer(self._held):
            at = match.start()
            if match[0] != "<" and not self._begins_line(at):
                continue
            verdict = opens(self._held[at:])
            if verdict is not False:
                return at, bool(verdict)
        return len(self._held), False

    def _begins_line(self, at: int) -> bool:
        _, newline, indent = self._held[:at].rpartition("\n")
        return not indent.strip() and (bool(newline) or self._fresh)

    def _call(self) -> bool:
        """Look for the end of the call that is held. Returns whether to go on with the text after it."""
        start, closers = frame(self._held)
        end = terminator(self._held[start:])
        while (found := self._held.find(end, max(self._tried, start))) >= 0:
            self._tried = found + len(end)
            try:
                call = decoded(self._held[start : self._tried], self._tools)
            except ValueError:
                self._give_up()
                return True
            if call:
                self._pass_on(*call)
                self._closers = closers + self._closers
                return True
        return False

    def _pass_on(self, name: str, arguments: str) -> None:
        if self._tools.parallel or not self._calls:
            self._on_call(name, arguments)
            self._calls += 1
        self._held, self._fresh, self._step = self._held[self._tried :], True, self._close

    def _close(self) -> bool:
        """Remove what closes the frames of calls. Returns whether something else follows."""
        while self._closers:
            text, closer = self._held.lstrip(), self._closers[0]
            if not text.startswith(closer) and closer.startswith(text):
                return False
            if not text.startswith(closer):
                break
            self._held = text.removeprefix(self._closers.pop(0))
        self._step = self._say
        return bool(self._held)

    def _give_up(self) -> None:
        """Show as text what looked like the beginning of a call, up to where something else may begin."""
        self._show(len(self._held) - len(self._held.lstrip()) + 1)
        self._step = self._say

    def _show(self, length: int) -> None:
        if length:
            text, self._held = self._held[:length], self._held[length:]
            self._fresh, self._closers = False, []
            self._on_text(text)
