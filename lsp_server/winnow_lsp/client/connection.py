"""The user's shared server: found or started, and asked as docs/protocol.md describes (LSP 3.17, Base Protocol)."""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from winnow_engine import errors
from winnow_engine.core import (
    Cancellation,
    Citation,
    Folder,
    Kept,
    KeptSink,
    Sentence,
    Span,
    TextSink,
    Thought,
    UnitKind,
)
from winnow_engine.errors import CancelledError, TargetError, WinnowError
from winnow_engine.platform import has_private_sockets, peer, user
from winnow_engine.question import Cursor, Question
from winnow_lsp.host.reply import ON_THE_WIRE, Reply
from winnow_lsp.host.roots import file_at, file_path, workspace_path
from winnow_lsp.host.socket_path import ServerFiles, connect

_STARTING_POLL_S = 0.02
_START_S = 60.0  # importing everything from a slow disk
_SERVE = ("-P", "-m", "winnow_lsp", "serve", "--shared")  # -P: nothing is imported from the current directory

_POLL_S = 0.1
_CHUNK = 1 << 16
_END_OF_HEADER = b"\r\n\r\n"


_CANCELLED = -32800  # LSP 3.17, LSPErrorCodes.RequestCancelled
# The server need not watch the folder: each question reads it anew, and this client leaves after one.
_CAPABILITIES = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}


class NoServerError(Exception):
    """The shared server could not be reached or started, for the reason given."""


def running(place: Path) -> tuple[socket.socket, int] | None:
    """A connection to the server at a place, and its process; None without. Raises NoServerError if another user's."""
    try:
        connected, process = connect(place)
    except (OSError, ValueError):
        return None
    if has_private_sockets() and peer(connected)[1] != user():
        connected.close()
        raise NoServerError(f"{place} belongs to another user")
    return connected, process


def started(place: ServerFiles, at: Path, cancellation: Cancellation) -> socket.socket:
    """A connection to a server that is started now, and outlives this command. Raises NoServerError, CancelledError."""
    try:
        place.log.parent.mkdir(parents=True, exist_ok=True)
        with place.log.open("wb") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": log}
            alone = {"start_new_session": True, "creationflags": getattr(subprocess, "CREATE_NO_WINDOW", 0)}
            server = subprocess.Popen([sys.executable, *_SERVE], cwd="/", **alone, **streams)  # type: ignore[call-overload]
    except OSError as error:
        raise NoServerError(str(error)) from error
    return _connected(place, at, server, cancellation)


def _connected(
    place: ServerFiles, at: Path, server: subprocess.Popen[bytes], cancellation: Cancellation
) -> socket.socket:
    """The first connection that succeeds. Where several servers are started at once, all but one end at once."""
    latest = time.monotonic() + _START_S
    while time.monotonic() < latest:
        cancellation.check()
        if found := running(at):
            Thread(target=server.wait, daemon=True).start()  # it stays, and is no zombie once it has ended
            return found[0]
        if server.poll():
            raise NoServerError(f"it ended with exit code {server.returncode}: {place.log} says why")
        time.sleep(_STARTING_POLL_S)
    server.terminate()
    raise NoServerError(f"it did not start within {_START_S:.0f} s: {place.log} may say why")


class ConnectionLostError(Exception):
    """The server has gone away, or says what is not the protocol."""


class Connection:
    """A client's end. Requests of the server are granted and otherwise ignored: this client has no windows."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket, self._buffer, self._last_id = connected, bytearray(), 0

    def request(self, method: str, params: object) -> int:
        """Send a request; returns its id."""
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        return self._last_id

    def notify(self, method: str, params: object) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def result(self, method: str, params: object, cancellation: Cancellation) -> Any:
        """The result of a request whose notifications do not matter. Raises CancelledError, ConnectionLostError."""
        identity = self.request(method, params)
        for message in self.messages():
            cancellation.check()
            if message is not None and message.get("id") == identity:
                if "error" in message:
                    raise ConnectionLostError(str(message["error"]))
                return message["result"]
        raise AssertionError("messages never end")

    def messages(self) -> Iterator[dict[str, Any] | None]:
        """Notifications and responses, and None every tenth of a second without any. Raises ConnectionLostError."""
        while True:
            body = self._body()
            if body is None:
                ready, _, _ = select.select([self._socket], [], [], _POLL_S)
                if ready:
                    self._receive()
                else:
                    yield None
            elif "method" in body and "id" in body:
                self._send({"id": body["id"], "result": None})
            else:
                yield body

    def _body(self) -> dict[str, Any] | None:
        end = self._buffer.find(_END_OF_HEADER)
        if end < 0:
            return None
        try:
            length = int(bytes(self._buffer[:end]).lower().partition(b"content-length:")[2].split(b"\r")[0])
            start = end + len(_END_OF_HEADER)
            if len(self._buffer) < start + length:
                return None
            body: dict[str, Any] = json.loads(self._buffer[start : start + length])
        except ValueError as error:
            raise ConnectionLostError("the server does not speak the protocol") from error
        del self._buffer[: start + length]
        return body

    def _receive(self) -> None:
        try:
            data = self._socket.recv(_CHUNK)
        except OSError as error:
            raise ConnectionLostError(str(error)) from error
        if not data:
            raise ConnectionLostError("the server has ended")
        self._buffer += data

    def _send(self, message: dict[str, object]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        try:
            self._socket.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        except OSError as error:
            raise ConnectionLostError(str(error)) from error


@dataclass(frozen=True, slots=True)
class Listener:
    """Sinks for text of the answer, kept code, the current wait, and text of a thought before the answer."""

    on_text: TextSink
    on_kept: KeptSink
    on_stage: Callable[[str], None]
    on_thought: TextSink = lambda _: None


def ask(
    connection: Connection,
    folders: Sequence[Folder],
    question: Question,
    settings: Mapping[str, Any],
    listener: Listener,
    cancellation: Cancellation,
) -> Reply:
    """The server's answer, with `settings` by name. Raises what the engine raises, and ConnectionLostError."""
    _introduce(connection, folders, settings, cancellation)
    asked = connection.request("winnow/ask", _params(folders, question))
    cancelled = False
    for message in connection.messages():
        if cancellation.cancelled and not cancelled:
            cancelled = True
            connection.notify("$/cancelRequest", {"id": asked})
        if message is None:
            continue
        if message.get("id") == asked:
            if "error" in message:
                raise _error(message["error"])
            # Leaving in order tells the server to complete an index that the answer could not wait for.
            connection.request("shutdown", None)
            connection.notify("exit", None)
            return _reply(message["result"], folders)
        _tell(listener, message, folders)
    raise AssertionError("messages never end")


def _introduce(
    connection: Connection, folders: Sequence[Folder], settings: Mapping[str, Any], cancellation: Cancellation
) -> None:
    params = {
        "processId": None,
        "rootUri": None,
        "capabilities": _CAPABILITIES,
        "workspaceFolders": [{"uri": one.root.as_uri(), "name": one.name or one.root.name} for one in folders],
        "initializationOptions": {**settings, "index.automatic": "always"},
    }
    connection.result("initialize", params, cancellation)
    connection.notify("initialized", {})


def _params(folders: Sequence[Folder], question: Question) -> dict[str, Any]:
    params: dict[str, Any] = {"question": question.text, "partialResultToken": "text", "workDoneToken": "stages"}
    if question.changes is not None:
        params["changes"] = question.changes
    if question.earlier:
        params["earlier"] = [asdict(turn) for turn in question.earlier]
    return params if question.cursor is None else params | _where(folders, question.cursor)


def _where(folders: Sequence[Folder], cursor: Cursor) -> dict[str, Any]:
    """Line ends: whole lines, of which the last ends where the next begins; a single one is a position."""
    start = {"line": cursor.start_line - 1, "character": 0}
    end = {"line": cursor.end_line, "character": 0}
    at = {"position": start} if cursor.start_line == cursor.end_line else {"range": {"start": start, "end": end}}
    file = file_at(folders, cursor.path)
    assert file is not None, "a cursor is in one of the folders"
    return {"textDocument": {"uri": file.as_uri()}, **at}


def _tell(listener: Listener, message: Mapping[str, Any], folders: Sequence[Folder]) -> None:
    match message:
        case {"method": "winnow/kept", "params": params}:
            spans = tuple(_span(span, folders) for span in params["spans"])
            listener.on_kept(Kept(spans, params.get("seconds"), params.get("provisional", False)))
        case {"method": "$/progress", "params": {"token": "text", "value": {"text": str(text), **more}}}:
            if thinking := more.get("thinking"):
                listener.on_thought(str(thinking))
            if text:
                listener.on_text(text)
        case {"method": "$/progress", "params": {"token": "stages", "value": {"message": str(stage)}}}:
            listener.on_stage(stage)


def _error(error: Mapping[str, Any]) -> Exception:
    """The engine's error in the server, by its name."""
    message = str(error["message"])
    if error["code"] == _CANCELLED:
        return CancelledError("cancelled")
    data = error.get("data")
    kind = getattr(errors, str(data.get("kind")), None) if isinstance(data, dict) else None
    if isinstance(kind, type) and issubclass(kind, WinnowError):
        return kind(message)
    return TargetError(message) if data is None else ConnectionLostError(message)


def _reply(result: Mapping[str, Any], folders: Sequence[Folder]) -> Reply:
    gone = _before(result.get("citedBefore", ()), folders)
    return Reply(
        answer=result["answer"],
        citations=(*(Citation(*_place(citation, folders)) for citation in result["citations"]), *gone),
        spans=tuple(_span(span, folders) for span in result["spans"]),
        stats={key: result["stats"].get(name) for key, name in ON_THE_WIRE.items()},
        finish=result["finish"],
        notices=tuple(result["notices"]),
        thinking=Thought(**result["thinking"]) if "thinking" in result else None,
        sentences=tuple(_sentence(one, folders) for one in result["sentences"]),
    )


def _sentence(one: Mapping[str, Any], folders: Sequence[Folder]) -> Sentence:
    places = tuple(Citation(*_place(place, folders)) for place in one["places"])
    gone = _before(one.get("placesBefore", ()), folders)
    unknown = tuple((name["start"], name["end"]) for name in one["unknown"])
    return Sentence(one["start"], one["end"], (*places, *gone), one.get("support"), unknown)


def _before(places: Iterable[Mapping[str, Any]], folders: Sequence[Folder]) -> Iterator[Citation]:
    """Places in commits."""
    return (Citation(*_place(one["location"], folders, follow=False), one["commit"]) for one in places)


def _span(span: Mapping[str, Any], folders: Sequence[Folder]) -> Span:
    path, start, end = _place(span["location"], folders)
    kind = UnitKind(span["kind"])
    return Span(path, start, end, span["tokens"], span["score"], kind, span["name"], span["features"])


def _place(location: Mapping[str, Any], folders: Sequence[Folder], follow: bool = True) -> tuple[str, int, int]:
    """The workspace path and the lines of a location, which ends where the line after its last one begins."""
    path, lines = workspace_path(folders, file_path(location["uri"]), follow), location["range"]
    assert path is not None, "the server speaks of files in the folders"
    return path, lines["start"]["line"] + 1, lines["end"]["line"]
