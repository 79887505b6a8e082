"""JSON-RPC messages as no client would send them: random but well formed, then mutated, then oddly framed."""

from __future__ import annotations

import itertools
import json
import types as python_types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import attrs
from lsprotocol import types

_DEEP = "@@deep@@"
_DEPTHS = (10, 100, 500, 800, 5_000, 200_000)
_HUGE = "@@huge@@"
_HUGE_VALUES = (
    json.dumps("x" * 500_000),
    json.dumps("\0" * 100_000),
    json.dumps(list(range(20_000))),
    json.dumps({str(n): n for n in range(20_000)}),
)
_LONGEST_LINE = 1 << 16  # bytes; the server gives up on a longer one that should be a header
_NUMBERS = (0, 1, 2, 7, -1, -(2**31), 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64, 10**30, 0.5, -0.0, 1e308)
_TEXTS = (
    "",
    " ",
    "x",
    "hello.py",
    "\0",
    "a\0b",
    "\ud800",
    "\udfff\ud800",
    "\u2028",
    "naïve 🙂 text",
    "\r\n",
    "Content-Length: 5\r\n\r\n",
    "../../../../etc/passwd",
    "%2e%2e%2f%2e%2e%2f",
    "%",
    "smollm2-135m",
    "{}",
    "9" * 5000,
)
_URIS = (
    "file:///etc/passwd",
    "file:///proc/self/environ",
    "file:///nowhere/x.py",
    "file://server/share/x.py",
    "file:relative.py",
    "FILE:///etc/passwd",
    "untitled:Untitled-1",
    "winnow:/1-answer.md",
    "http://127.0.0.1:9/x.py",
    "https://[broken/x.py",
    "vscode-notebook-cell:/x.ipynb#W0",
    "git:/x.py?ref=HEAD",
    "data:text/plain;base64,eA==",
    "jar:file:///x.jar!/a.py",
    "//double/slash",
    "no scheme",
    "file:///c%3A/x.py",
    "file:///%00",
    "file:///%ff%fe",
    "file:///" + "a" * 5000,
)
_SETTINGS = {
    "drafter": ("smollm2-135m", "no-such-model", "/etc/passwd", 5, None),
    "kvType": ("f16", "q8_0", "f32", 1),
    "draft": ("auto", "off", "lookup", "", 1),
    "budget": (100, "50%", "-1%", {"tokens": 100}, {"earlierTokens": "many"}, [], 3.5),
    "maxTokens": (4, -4, 2**64, "long"),
    "answer": ({"maxTokens": 4}, {"temperature": 1e308}, "long"),
    "files": ({"include": ["*.py"]}, {"exclude": ["!["]}, {"include": "*"}, {"maxBytes": 10}),
    "index.automatic": ("always", "off", "no"),
    "codeLens.enabled": (True, False, 0),
    "unknown": ({"deep": {"er": 1}},),
}
_ENDINGS = {types.EXIT, types.SHUTDOWN}
_METHODS = sorted(m for m in types.METHOD_TO_TYPES if types.message_direction(m) != "serverToClient")
_COMMANDS = ("winnow.ask", "winnow.explain", "winnow.showSpans", "winnow.review", "winnow.cancel", "rm", "")
_OWN = ("winnow/ask", "winnow/spans", types.WORKSPACE_EXECUTE_COMMAND, types.TEXT_DOCUMENT_CODE_ACTION)


@dataclass(frozen=True)
class Framed:
    """Bytes to send, and the bodies a server must find in them by the rules of `winnow serve`."""

    data: bytes
    bodies: tuple[bytes, ...]


class Messages:
    """Random messages about one workspace folder; equal seeds give equal messages."""

    def __init__(self, rng: Random, root: Path) -> None:
        self._rng, self._root = rng, root
        self._ids = itertools.count(1)
        self._sent: list[int | str] = [0]

    def framed(self) -> Framed:
        """One message, or what once was one, as bytes that can be read on behind it."""
        return unusual(self._rng, self.body()) if self._chance(0.15) else plain(self.body())

    def body(self) -> bytes:
        """A message's body: three in five are mutated."""
        message: Any = self.message()
        for _ in range(self._rng.choice((0, 0, 1, 1, 2, 6))):
            message = self._mutated(message)
        return self._encoded(message)

    def message(self) -> dict[str, Any]:
        """A well-formed message."""
        method = self._method()
        known = types.METHOD_TO_TYPES.get(method)
        message = {"jsonrpc": "2.0", "method": method, "params": self._params(method)}
        is_request = method in _OWN or (known[1] is not None if known else self._chance(0.5))
        if is_request:
            message["id"] = self._identity()
        elif self._chance(0.1):
            return {"jsonrpc": "2.0", "id": self._rng.choice(self._sent), "result": self._anything(2)}
        return message

    def _method(self) -> str:
        if self._chance(0.3):
            return self._rng.choice(_OWN)
        method = self._rng.choice((*_METHODS, "winnow/none", "$/none", ""))
        return method if method not in _ENDINGS else "winnow/none"

    def _identity(self) -> int | str:
        number = next(self._ids)
        identity = self._rng.choice((number, number, f"text-{number}", 2**64 + number, -number, f"\ud800{number}"))
        self._sent.append(identity)
        return identity

    def _params(self, method: str) -> Any:
        if method in ("winnow/ask", "winnow/spans"):
            return self._question()
        if method == types.WORKSPACE_EXECUTE_COMMAND:
            command = self._rng.choice(_COMMANDS)
            return {"command": command, "arguments": [self._explain() if command.endswith("n") else self._question()]}
        if method == types.CANCEL_REQUEST:
            return {"id": self._rng.choice(self._sent)}
        if method == types.WORKSPACE_DID_CHANGE_CONFIGURATION:
            return {"settings": {name: self._rng.choice(values) for name, values in self._some(_SETTINGS)}}
        request = types.METHOD_TO_TYPES.get(method, (None,))[0]
        return self._object(request, 0).get("params") if request else self._anything(2)

    def _question(self) -> dict[str, Any]:
        question = {
            "question": self._rng.choice(("What does greet do?", "Who calls it?", self._text())),
            "textDocument": {"uri": self._uri()},
            "position": self._of(types.Position, 0, ""),
            "range": self._of(types.Range, 0, ""),
            "conversation": self._text(),
            "supersedes": self._chance(0.3),
            "budget": self._rng.choice(_NUMBERS),
            "partialResultToken": f"deltas-{next(self._ids)}",
            "workDoneToken": self._rng.choice(("stages", 5)),
        }
        return {"question": question["question"]} | dict(self._some(question))

    def _explain(self) -> dict[str, Any]:
        about = self._rng.choice(("code", "diagnostic", "usage", "impact", "why", "else"))
        place = {"textDocument": {"uri": self._uri()}, "range": self._of(types.Range, 0, "")}
        return place | {"about": about, "diagnostics": [{"message": self._text()}]}

    def _of(self, kind: Any, depth: int, name: str) -> Any:
        """A random value of a type of the protocol, as JSON."""
        if attrs.has(kind):
            return self._object(kind, depth)
        origin, inner = typing.get_origin(kind), typing.get_args(kind)
        if origin in (typing.Union, python_types.UnionType):
            return self._of(self._rng.choice(inner), depth, name)
        if origin in (list, tuple) or getattr(origin, "__name__", "") == "Sequence":
            return [self._of(inner[0], depth + 1, name) for _ in range(self._rng.randrange(3) if depth < 5 else 0)]
        if isinstance(kind, type) and issubclass(kind, Enum):
            return self._rng.choice(list(kind)).value
        if kind is str:
            return self._uri() if "uri" in name.lower() else self._text()
        if kind in (int, float):
            return self._rng.choice(_NUMBERS[:4]) if self._chance(0.8) else self._rng.choice(_NUMBERS)
        return {bool: self._chance(0.5), type(None): None}.get(kind, self._anything(2))

    def _object(self, kind: type, depth: int) -> dict[str, Any]:
        wanted = {}
        for field in _fields(kind):
            if field.default is attrs.NOTHING or self._chance(0.5 if depth < 4 else 0.0):
                head, *rest = field.name.rstrip("_").split("_")
                json_name = head + "".join(map(str.capitalize, rest))
                wanted[json_name] = self._of(field.type, depth + 1, json_name)
        return wanted

    def _anything(self, depth: int) -> Any:
        if depth and self._chance(0.4):
            some = [self._anything(depth - 1) for _ in range(3)]
            return self._rng.choice((some, dict(zip(("uri", "line", "x"), some, strict=True))))
        return self._rng.choice((None, True, self._rng.choice(_NUMBERS), self._text(), self._uri(), [], {}))

    def _text(self) -> str:
        return self._rng.choice(_TEXTS)

    def _uri(self) -> str:
        root = self._root.as_uri()
        inside = (f"{root}/hello.py", f"{root}/%68ello.py", f"{root}/../{self._root.name}/hello.py", f"{root}/none.py")
        outside = (f"{root}/%2e%2e/secret.py", f"{root}/..%2fsecret.py", f"{root}-not/hello.py", root)
        return self._rng.choice((*inside, *inside, *outside, *_URIS))

    def _mutated(self, message: Any) -> Any:
        """The message with one place of it changed."""
        places = list(_places(message))
        if not places:
            return message
        holder, key = self._rng.choice(places)
        match self._rng.randrange(6):
            case 0:
                del holder[key]
            case 1:
                holder[key] = [holder[key], holder[key]]
            case 2 | 3:
                holder[key] = self._anything(2)
            case 4:
                holder[key] = _DEEP
            case 5:
                holder[key] = _HUGE if self._chance(0.2) else "\ud83d"
        return message

    def _encoded(self, message: Any) -> bytes:
        text = json.dumps(message, ensure_ascii=self._chance(0.5))
        depth = self._rng.choice(_DEPTHS)
        text = text.replace(f'"{_DEEP}"', "[" * depth + "]" * depth)
        text = text.replace(f'"{_HUGE}"', self._rng.choice(_HUGE_VALUES))
        if self._chance(0.02):
            text = text.replace("{", '{"id": 1, "method": "$/none", ', 1)
        if self._chance(0.02):
            text = text.replace(" 1", self._rng.choice((" NaN", " -Infinity", " 1e999", " 01", " 9" + "0" * 5000)), 1)
        return text.encode("utf-8", "surrogatepass")

    def _some(self, fields: Mapping[str, Any]) -> list[tuple[str, Any]]:
        return [item for item in fields.items() if self._chance(0.3)]

    def _chance(self, share: float) -> bool:
        return self._rng.random() < share


def plain(body: bytes) -> Framed:
    """A message framed as the protocol wants it."""
    return Framed(b"Content-Length: %d\r\n\r\n%b" % (len(body), body), (body,))


def unusual(rng: Random, body: bytes) -> Framed:
    """A message framed as nobody does it, though one may."""
    length = b"Content-Length: %d" % len(body)
    value = rng.randbytes(rng.randrange(2000)).replace(b"\n", b"")
    headers = (
        length + b"\n",
        length.swapcase().replace(b" ", b"") + b"\r\n",
        b"Content-Length: 99\r\n" + length + b"\r\n",
        b"\r\n\n" + length + b" \r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n",
        b"X-Header: " + value + b"\r\n\r\n" + length + b"\r\n",
    )
    return Framed(rng.choice(headers) + b"\r\n" + body, (body,))


def ending(rng: Random, body: bytes) -> Framed:
    """A stream that cannot be read to its end, or ends where it should not."""
    whole, length = plain(body).data, len(body)
    half = rng.randrange(length)
    bad = rng.choice((b"-5", b"", b"ten", b"1e3", b"5, 5", b"\xff", b"9" * 17, b"9" * 30))
    return rng.choice(
        (
            Framed(whole[: rng.randrange(len(whole))], ()),
            Framed(b"Content-Length: %d\r\n\r\n%b" % (length + 1 + half, body), ()),
            Framed(b"Content-Length: %d\r\n\r\n%b\r\n%b" % (half, body, whole), (body[:half],)),
            Framed(b"Content-Length: %b\r\n\r\n%b\r\n%b" % (bad, body, whole), ()),
            Framed(body + b"\r\n" + whole, ()),
            Framed(rng.randbytes(9) + b"\r\n" + whole, ()),
            Framed(b"POST / HTTP/1.1\r\nHost: localhost\r\n" + whole, ()),
            Framed(b"X: " + b"x" * 2 * _LONGEST_LINE, ()),
        )
    )


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a JSON value, as the object or list that holds it and its key there."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in ((value, key), *_places(value[key]))]


@cache
def _fields(kind: type) -> tuple[attrs.Attribute[Any], ...]:
    """An attrs class's fields with their types."""
    return attrs.fields(attrs.resolve_types(kind))  # type: ignore[no-any-return]
