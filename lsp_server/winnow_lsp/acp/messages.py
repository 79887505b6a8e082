"""The protocol's messages: JSON-RPC 2.0, one a line; a prompt's content as a question; and `session/update`."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from io import RawIOBase
from pathlib import Path
from typing import Any, BinaryIO, Literal
from urllib.parse import urlsplit

from winnow_engine.config import FileRules
from winnow_engine.core import Citation, Folder, Kept, Span, counted
from winnow_engine.errors import NotJsonError, PositionError
from winnow_engine.index.file_rules import is_secret
from winnow_engine.index.files import explain
from winnow_engine.prompting.markdown import block as fenced_block
from winnow_engine.prompting.markdown import code
from winnow_engine.question import Cursor, Question, Turn
from winnow_engine.untrusted import read_json
from winnow_lsp.host.footnotes import FootnoteStream
from winnow_lsp.host.reply import Reply, Waiting, place
from winnow_lsp.host.roots import file_path, workspace_path
from winnow_lsp.host.standard_output import write_whole

_BETWEEN_COUNTS_S = 0.25
_MOST_EMBEDDED = 4000  # characters of all embedded texts of a prompt
_NUMBERS = re.compile(r"[\d,.]+")

Update = Callable[[Mapping[str, Any]], None]
Status = Literal["pending", "in_progress", "completed", "failed"]


_CHANGED = {"sessionUpdate": "tool_call_update"}
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


def _is_identity(value: object) -> bool:
    return value is None or (isinstance(value, int | str) and not isinstance(value, bool))


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    mentions: bool = False
    cursor: Cursor | None = None
    path: str = ""
    embedded: str = ""

    def with_embedded(self, most: int) -> _Part:
        """The part with its embedded text, if any, of which up to `most` characters are shown."""
        shown = f"\n\n{self.text}:\n{fenced_block(_ends(self.embedded, most), '')}\n"
        return replace(self, text=shown) if self.embedded else self


def question_of(blocks: object, folder: Path, earlier: tuple[Turn, ...], rules: FileRules | None = None) -> Question:
    """The question of a prompt, whose cursor is the last block that names lines below `folder`. Raises RequestError.

    A file's embedded text is part of the question only where Winnow does not read the file and it is no secret.
    """
    if not isinstance(blocks, list):
        raise RequestError(INVALID_PARAMS, "prompt must be a list of content blocks")
    parts = [_part(block, folder, rules) for block in blocks]
    share = _MOST_EMBEDDED // max(1, sum(bool(part.embedded) for part in parts))
    text = _joined([part.with_embedded(share) for part in parts])
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


def _part(block: object, folder: Path, rules: FileRules | None) -> _Part:
    match block:
        case {"type": "text", "text": str(text)}:
            return _Part(text)
        case {"type": "resource_link", "uri": str(uri)}:
            return _mention(uri, folder)
        case {"type": "resource", "resource": {"uri": str(uri), "text": str(text)}}:
            mention = _mention(uri, folder)
            if mention.path and explain(folder, Path(mention.path), rules).included:
                return mention
            secret = is_secret(mention.path or uri.partition("#")[0], text.encode("utf-8", "replace"))
            return mention if secret else _Part(mention.text, True, embedded=text)
        case {"type": "resource", "resource": {"uri": str(uri), "blob": str()}}:
            return _mention(uri, folder)
        case {"type": "image" | "audio" as kind}:
            raise RequestError(INVALID_PARAMS, f"Winnow reads no {kind}: ask in words")
    shown = repr(block.get("type")) if isinstance(block, Mapping) else type(block).__name__
    raise RequestError(INVALID_PARAMS, f"prompt has a block that is no content: {shown}")


def _ends(text: str, most: int) -> str:
    """The text, or its beginning and end, cut at lines where there are any; a log ends with what matters."""
    if len(text) <= most:
        return text
    head, tail = text[: most // 2], text[len(text) - most // 2 :]
    head, tail = head[: head.rfind("\n") + 1] or f"{head}\n", tail[tail.find("\n") + 1 :] or tail
    return f"{head}⋯ {counted(len(text) - len(head) - len(tail), 'character')} left out\n{tail}"


def _mention(uri: str, folder: Path) -> _Part:
    """A file below the folder, with its lines if the URI ends in some, such as `#L10-20`; another URI as it is."""
    path = None
    with suppress(PositionError, ValueError, OSError):
        path, fragment = workspace_path([Folder(folder, "")], file_path(uri)), urlsplit(uri).fragment
    if path is None:
        return _Part(f"`{uri}`", True)
    lines = _LINES.fullmatch(fragment)
    if lines is None or not 1 <= int(lines[1]) <= int(lines[2] or lines[1]):
        return _Part(f"`{path}`", True, None, path)
    cursor = Cursor(path, int(lines[1]), int(lines[2] or lines[1]))
    last = f"-{cursor.end_line}" if lines[2] else ""
    return _Part(f"`{path}:{cursor.start_line}{last}`", True, cursor, path)


def text_of(value: Mapping[str, Any], name: str) -> str:
    """A field that must be a string. Raises RequestError."""
    found = value.get(name)
    if not isinstance(found, str):
        raise RequestError(INVALID_PARAMS, f"{name} must be a string")
    return found


class _ToolCall:
    """Something that takes time, whose title says what is being waited for."""

    def __init__(self, update: Update, identity: str, kind: str) -> None:
        self._update, self._identity, self._kind = update, identity, kind
        self.status: Status = "pending"

    def show(self, title: str, status: Status, **fields: Any) -> None:
        """Show the call, or what has changed about it."""
        new = {"sessionUpdate": "tool_call", "kind": self._kind} if self.status == "pending" else _CHANGED
        self.status = status
        self._update({**new, "toolCallId": self._identity, "title": title, "status": status, **fields})

    def fail(self, title: str) -> None:
        """End it without a result, if it has not ended."""
        if self.status == "in_progress":
            self.show(title, "failed")


class Updates:
    """Streams one answer: the search with the places that were kept, the wait for the target, the text, the sources."""

    def __init__(self, update: Update, folder: Path, turn: str) -> None:
        self._update, self._folder = update, folder
        self._search = _ToolCall(update, f"{turn}-search", "search")
        self._read = _ToolCall(update, f"{turn}-read", "read")
        self._said, self._said_s, self.notes = "", 0.0, FootnoteStream()

    def begin(self) -> None:
        """Say that the search has begun."""
        self._search.show("Searching the repository", "in_progress")

    def stage(self, line: str) -> None:
        """Say what is being waited for, such as `reading 512 of 2,900 tokens, about 14 s`."""
        said, now = _NUMBERS.sub("", line), time.monotonic()
        if said == self._said and now - self._said_s < _BETWEEN_COUNTS_S:
            return
        self._said, self._said_s = said, now
        for call in (self._search, self._read):
            if call.status == "in_progress":
                call.show(line.capitalize(), "in_progress")

    def kept(self, kept: Kept) -> None:
        """Show the places that the answer will rest on, and how long the first word will take."""
        files = len({span.path for span in kept.spans})
        places = f"{counted(len(kept.spans), 'place')} in {counted(files, 'file')}"
        self._search.show(
            f"Found {places} so far" if kept.provisional else f"Kept {places}",
            "in_progress" if kept.provisional else "completed",
            locations=[{"path": str(self._folder / span.path), "line": span.start_line} for span in kept.spans],
            content=[{"type": "content", "content": _text("\n".join(f"- {self._link(one)}" for one in kept.spans))}],
        )
        if not kept.provisional and self._read.status in ("pending", "in_progress"):
            waiting = Waiting()
            waiting.kept(kept)
            self._read.show(waiting.line().capitalize(), "in_progress")

    def text(self, text: str) -> None:
        """Stream more of the answer."""
        self._say(self.notes.feed(text))

    def _say(self, text: str) -> None:
        self._has_read()
        self._update({"sessionUpdate": "agent_message_chunk", "content": _text(text)})

    def thought(self, text: str) -> None:
        """Stream what a reasoning model thinks before it answers."""
        self._has_read()
        self._update({"sessionUpdate": "agent_thought_chunk", "content": _text(text)})

    def end(self, reply: Reply) -> None:
        """Close the answer with the lines it cites, and with what the user should know."""
        cited, notes = self.notes.lines(reply.sentences, reply.citations, self._link)
        sources = "\n".join(["\n\n**Sources**\n", *(f"- {one}" for one in cited)]) if cited else ""
        notices = "".join(f"\n\n*Note: {notice}*" for notice in (*notes, *reply.notices))
        if said := f"{self.notes.end()}{sources}{notices}":
            self._say(f"{said}\n" if sources or notices else said)
        self.abandon()

    def abandon(self) -> None:
        """End what has not ended."""
        self._search.fail("The search was stopped")
        self._read.fail("The answer was stopped")

    def _has_read(self) -> None:
        if self._read.status == "in_progress":
            self._read.show("The code that was kept", "completed")

    def _link(self, one: Citation | Span) -> str:
        """A Markdown link to lines: an anchor of one line is what every client understands."""
        return f"[{code(place(one))}]({(self._folder / one.path).as_uri()}#L{one.start_line})"


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
