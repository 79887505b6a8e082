"""The user's shared server, found or started, and a conversation with it (LSP 3.17, Base Protocol)."""

from __future__ import annotations

import json
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from winnow_engine.core import Cancellation
from winnow_lsp.host.socket_path import Peer, ServerFiles

_STARTING_POLL_S = 0.02
_START_S = 60.0  # importing everything from a slow disk
_SERVE = ("-P", "-m", "winnow_lsp", "serve", "--shared")  # -P: nothing is imported from the current directory

_POLL_S = 0.1
_CHUNK = 1 << 16
_END_OF_HEADER = b"\r\n\r\n"


class NoServerError(Exception):
    """The shared server could not be reached or started, for the reason given."""


def running(place: Path) -> socket.socket | None:
    """A connection to the server at a socket, None if there is none. Raises NoServerError if it is another user's."""
    connected = socket.socket(socket.AF_UNIX)
    try:
        connected.connect(str(place))
    except OSError:
        connected.close()
        return None
    if not Peer.of(connected).is_us:
        connected.close()
        raise NoServerError(f"{place} belongs to another user")
    return connected


def started(place: ServerFiles, at: Path, cancellation: Cancellation) -> socket.socket:
    """A connection to a server that is started now, and outlives this command. Raises NoServerError, CancelledError."""
    try:
        place.log.parent.mkdir(parents=True, exist_ok=True)
        with place.log.open("wb") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": log}
            server = subprocess.Popen([sys.executable, *_SERVE], cwd="/", start_new_session=True, **streams)  # type: ignore[call-overload]
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
        if connected := running(at):
            server.returncode = server.returncode or 0  # it stays: nothing to warn about when this object goes
            return connected
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
