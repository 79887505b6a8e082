"""Separates a model's text, while it streams, into what it says and what it calls. The calls' markup is not shown."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import product
from typing import Any

from winnow_engine.core import TextSink
from winnow_engine.errors import NotJsonError
from winnow_engine.prompting.tools import Tools
from winnow_engine.targets.local.call_forms import FORMS, CallForm
from winnow_engine.untrusted import read_json

_FENCES = ("", "```", "```json", "```xml")
_TAGS = ("", "<tool_call>", "<seed:tool_call>", "<tools>", "<function_call>")
_BODIES = ('{"name":', '{"arguments":', '{"parameters":', '{{"name":', "<function=")
_LEADS = (*map("".join, product(_FENCES, _TAGS, _BODIES)), *(lead for form in FORMS for lead in form.leads))

_SPACE = re.compile(r"\s+")
_FRAME = re.compile(
    r"\s*(?P<fence>```(?:json|xml)?)?\s*(?:<(?P<tag>[\w:]+)>)?\s*"
    r"(?P<list>\[TOOL_CALLS\]\s*\[)?\s*(?P<extra>\{(?=\s*\{))?\s*"
)
# A lead has at most 80 characters; text with more white space in it than this leaves room for is no call.
_WINDOW, _LONGEST_HEAD = 120, 240

_FIRST = re.compile(r"[<`{t[]")  # what any form of a call may begin with
_HEADED = [form for form in FORMS if form.head]
_HEAD = re.compile("|".join(form.head for form in _HEADED))
_NONE, _PYTHON = re.compile(r"\bNone\b"), {"True": "true", "False": "false", "None": "null"}  # as templates write them
_QUOTED_KEY, _KEY = re.compile(r'\{\s*"'), re.compile(r'([{,]\s*)([^\s{}\[\],:"]+)\s*:')
_BEGUN = re.compile(r'\{\s*"name"\s*:\s*"([^"]*)"\s*,\s*"(?:arguments|parameters)"\s*:\s*(\{.*)', re.DOTALL)


def opens(text: str, leads: Iterable[str]) -> bool | None:
    """True if a call begins here; None if more text is needed to tell."""
    compact = _SPACE.sub("", text[:_WINDOW])
    if any(compact.startswith(lead) for lead in leads):
        return True
    return None if len(text) < _WINDOW and any(lead.startswith(compact) for lead in leads) else False


def frame(text: str) -> tuple[int, str, list[str]]:
    """Where the body of the call that `text` opens begins, what ends it, and the closers around it, in order.

    The end is "" if more text is needed to tell. It may also occur inside the body.
    """
    match = _FRAME.match(text)
    assert match is not None, text
    found, tag = headed(text, match.end()), f"</{match['tag']}>" if match["tag"] else ""
    end = found[0].end if found else "}" if text.startswith("{", match.end()) else ""
    own = found[0].closing if found and not found[0].tags else "}" if match["extra"] else ""
    closers = [own, "]" if match["list"] else "", tag if tag != end else "", match["fence"] and "```"]
    return match.end(), end, [closer for closer in closers if closer]


def headed(text: str, start: int = 0) -> tuple[CallForm, str, int] | None:
    """The form of a body that begins with a function's name, that name, and where it ends; None if it is JSON."""
    head = _HEAD.match(text, start)
    return (_HEADED[head.lastindex - 1], head[head.lastindex], head.end()) if head and head.lastindex else None


def decoded(body: str, tools: Tools) -> tuple[str, str] | None:
    """The function and arguments (a JSON object) of a body; None if it goes on. ValueError if malformed."""
    found = headed(body)
    try:
        name, arguments = _named(body, *found, tools) if found else _from_object(_json(body))
    except NotJsonError as error:
        if error.unfinished:
            return None
        raise
    if not isinstance(name, str) or tools.parameters(name) is None or not isinstance(arguments, dict):
        raise ValueError("no call of a tool on offer")
    return name, json.dumps(arguments, ensure_ascii=False)


def begun(body: str, tools: Tools) -> tuple[str, str] | None:
    """The function and arguments of a body that was cut off, as far as they are JSON; None if it names no function."""
    found, said = headed(body), _BEGUN.match(body)
    if found is not None:
        form, name, start = found
        arguments = "{" if form.tags or form.quote else body[start:] or "{"
    else:
        name, arguments = said.groups() if said else ("", "")
    return None if tools.parameters(name) is None else (name, arguments)


def _named(body: str, form: CallForm, name: str, start: int, tools: Tools) -> tuple[str, Any]:
    text = body[start:]
    return name, _from_tags(text, form, tools.parameters(name) or {}) if form.tags else _json(text, form.quote)


def _from_object(document: dict[str, Any]) -> tuple[Any, Any]:
    arguments = document.get("arguments", document.get("parameters", {}))
    return document.get("name"), _typed(arguments, None) if isinstance(arguments, str) else arguments


def _json(text: str, quote: str = "") -> Any:
    """A JSON value, in which with a `quote` of the model's keys may have none."""
    if quote and not _QUOTED_KEY.match(text):
        parts = text.split(quote)
        parts[::2] = (_NONE.sub("null", _KEY.sub(r'\1"\2":', part)) for part in parts[::2])
        parts[1::2] = map(json.dumps, parts[1::2])
        text = "".join(parts)
    return read_json(text, strict=False)  # accepts line breaks in strings


def _from_tags(text: str, form: CallForm, schemas: Mapping[str, Any]) -> dict[str, Any]:
    end, arguments, parameter = 0, dict[str, Any](), _parameter(*form.tags)
    while found := parameter.match(text, end):
        end, arguments[found[1]] = found.end(), _typed(found[2], schemas.get(found[1]))
    if text[end:].strip() != form.end:
        raise NotJsonError("a parameter goes on", unfinished=True)
    return arguments


@cache
def _parameter(*tags: str) -> re.Pattern[str]:
    """A pattern of a parameter in tags: its name and its value."""
    before, between, behind = (re.escape(tag).replace("\\\n", r"\n?") for tag in tags)
    return re.compile(rf"\s*{before}([^<>\n]+){between}(.*?){behind}", re.DOTALL)


def _typed(value: str, schema: object) -> Any:
    """A parameter's value: JSON, unless its schema says that it is text or it is no JSON."""
    if isinstance(schema, Mapping) and schema.get("type") == "string":
        return value
    try:
        return read_json(_PYTHON.get(value, value))
    except NotJsonError:
        return value


class CallReader:
    """Passes on text, and names and arguments of calls of `tools`, however it is cut; what is no valid call is text."""

    def __init__(self, tools: Tools, on_text: TextSink, on_call: Callable[[str, str], None]) -> None:
        self._tools, self._on_text, self._on_call = tools, on_text, on_call
        self._leads = {lead.replace("NAME", name) for name in tools.functions for lead in _LEADS}
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

    def end(self, *, cut: bool = False) -> None:
        """Pass on what is held back: there is no more text. A call that was `cut` off has its arguments so far."""
        if cut and self._step == self._call and (call := begun(self._held[frame(self._held)[0] :], self._tools)):
            self._tried = len(self._held)
            self._pass_on(*call)
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
            if match[0] not in "<[" and not self._begins_line(at):
                continue
            verdict = opens(self._held[at:], self._leads)
            if verdict is not False:
                return at, bool(verdict)
        return len(self._held), False

    def _begins_line(self, at: int) -> bool:
        _, newline, indent = self._held[:at].rpartition("\n")
        return not indent.strip() and (bool(newline) or self._fresh)

    def _call(self) -> bool:
        """Look for the end of the call that is held. Returns whether to go on with the text after it."""
        start, end, closers = frame(self._held)
        if not end:
            return len(self._held) > _LONGEST_HEAD and self._give_up()
        while (found := self._held.find(end, max(self._tried, start))) >= 0:
            self._tried = found + len(end)
            try:
                call = decoded(self._held[start : self._tried], self._tools)
            except ValueError:
                return self._give_up()
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
            if closer == "]" and text.startswith(","):
                self._held = text[1:]
                break
            if not text.startswith(closer) and closer.startswith(text):
                return False
            if not text.startswith(closer):
                break
            self._held = text.removeprefix(self._closers.pop(0))
        self._step = self._say
        return bool(self._held)

    def _give_up(self) -> bool:
        """Show as text what looked like the beginning of a call, up to where something else may begin. Returns True."""
        self._show(len(self._held) - len(self._held.lstrip()) + 1)
        self._step = self._say
        return True

    def _show(self, length: int) -> None:
        if length:
            text, self._held = self._held[:length], self._held[length:]
            self._fresh, self._closers = False, []
            self._on_text(text)
