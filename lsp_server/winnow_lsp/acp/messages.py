"""The protocol's messages: JSON-RPC 2.0, one a line, and the content blocks of a prompt as a question."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from winnow_engine.errors import NotJsonError, PositionError
from winnow_engine.question import Cursor, Question, Turn
from winnow_engine.untrusted import read_json
from winnow_lsp.host.roots import below, file_path
from winnow_lsp.host.standard_output import take_standard_output, write_whole

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, FAILED, NOT_FOUND = -32602, -32603, -32002

Identity = int | str | None


_LINES = re.compile(r"L(\d{1,9})(?:[:-]L?(\d{1,9}))?", re.ASCII)


class RequestError(Exception):
    """A request that is answered with an error. The message says what is wrong, and what to do about it."""

    def __init__(self, code: int, message: str, kind: str | None = None) -> None:
        super().__init__(message)
        self.code, self.kind = code, kind


class JsonRpcLines:
    """Both directions of a conversation. Any thread may send."""

    def __init__(self, source: BinaryIO, sink: RawIOBase) -> None:
        self._source, self._sink, self._lock = source, sink, threading.Lock()

    def messages(self) -> Iterator[dict[str, Any]]:
        """Requests and notifications as they arrive; whatever else does is answered with an error or ignored."""
        for line in self._source:
            if line.strip():
                yield from self._read(line)

    def reply(self, identity: Identity, result: Mapping[str, Any]) -> None:
        """Answer a request."""
        self._send({"id": identity, "result": result})

    def refuse(self, identity: Identity, error: RequestError) -> None:
        """Answer a request with an error."""
        data = {} if error.kind is None else {"data": {"kind": error.kind}}
        self._send({"id": identity, "error": {"code": error.code, "message": str(error), **data}})

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell the client something."""
        self._send({"method": method, "params": params})

    def _read(self, line: bytes) -> Iterator[dict[str, Any]]:
        try:
            message = read_json(line)
        except NotJsonError:
            self.refuse(None, RequestError(PARSE_ERROR, "a line is not JSON"))
            return
        if not isinstance(message, dict) or not _is_identity(message.get("id")):
            self.refuse(None, RequestError(INVALID_REQUEST, "a message is not a JSON-RPC object"))
        elif isinstance(message.get("method"), str):
            yield message
        elif not {"result", "error"} & message.keys():  # responses are to nobody: Winnow asks the client nothing
            self.refuse(message.get("id"), RequestError(INVALID_REQUEST, "a request has no method"))

    def _send(self, message: Mapping[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        with self._lock, suppress(BrokenPipeError):  # a client that has gone; the end of its messages says so
            write_whole(self._sink, line)


def standard_streams() -> JsonRpcLines:
    """The client on standard input and output. Whatever else writes to standard output reaches standard error."""
    return JsonRpcLines(sys.stdin.buffer, take_standard_output())


def _is_identity(value: object) -> bool:
    return value is None or (isinstance(value, int | str) and not isinstance(value, bool))


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    mentions: bool = False
    cursor: Cursor | None = None


def question_of(blocks: object, folder: Path, earlier: tuple[Turn, ...]) -> Question:
    """The question of a prompt, whose cursor is the last block that names lines below `folder`. Raises RequestError."""
    if not isinstance(blocks, list):
        raise RequestError(INVALID_PARAMS, "prompt must be a list of content blocks")
    parts = [_part(block, folder) for block in blocks]
    text = _joined(parts)
    if not text.strip():
        raise RequestError(INVALID_PARAMS, "the prompt is empty: write a question")
    cursors = [part.cursor for part in parts if part.cursor]
    return Question(text, cursors[-1] if cursors else None, earlier)


def _joined(parts: Sequence[_Part]) -> str:
    """The texts one after another: blocks of text on lines of their own, mentions within the text around them."""
    joined, after_text = "", False
    for part in parts:
        apart = not joined or joined[-1].isspace() or part.text[:1].isspace()
        gap = " " if part.mentions else "\n" if after_text else ""
        joined += part.text if apart else gap + part.text
        after_text = not part.mentions
    return joined.strip()


def _part(block: object, folder: Path) -> _Part:
    match block:
        case {"type": "text", "text": str(text)}:
            return _Part(text)
        case {"type": "resource_link", "uri": str(uri)}:
            return _mention(uri, folder) or _Part(f"`{uri}`", mentions=True)
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
            return _mention(uri, folder) or _Part(f"\n\n`{uri}`:\n```\n{text}\n```\n", mentions=True)
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str()}}:
            return _mention(uri, folder) or _Part(f"`{uri}`", mentions=True)
        case {"type": "image" | "audio" as kind}:
            raise RequestError(INVALID_PARAMS, f"Winnow reads no {kind}: ask in words")
    shown = repr(block.get("type")) if isinstance(block, Mapping) else type(block).__name__
    raise RequestError(INVALID_PARAMS, f"prompt has a block that is no content: {shown}")


def _mention(uri: str, folder: Path) -> _Part | None:
    """A file below the folder, with its lines if the URI ends in some, such as `#L10-20`; None for another URI."""
    try:
        relative, fragment = below(file_path(uri), folder), urlsplit(uri).fragment
    except (PositionError, ValueError, OSError):
        return None
    if relative is None:
        return None
    path = relative.as_posix()
    lines = _LINES.fullmatch(fragment)
    if lines is None or not 1 <= int(lines[1]) <= int(lines[2] or lines[1]):
        return _Part(f"`{path}`", mentions=True)
    cursor = Cursor(path, int(lines[1]), int(lines[2] or lines[1]))
    last = f"-{cursor.end_line}" if lines[2] else ""
    return _Part(f"`{path}:{cursor.start_line}{last}`", True, cursor)


def text_of(value: Mapping[str, Any], name: str) -> str:
    """A field that must be a string. Raises RequestError."""
    found = value.get(name)
    if not isinstance(found, str):
        raise RequestError(INVALID_PARAMS, f"{name} must be a string")
    return found
