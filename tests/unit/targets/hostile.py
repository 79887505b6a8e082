"""A server in this process that answers as a test tells it to: well, badly, slowly or not at all."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from http_servers import running

MODEL = "m"


def delta(finish: str | None = None, **fields: Any) -> bytes:
    """A chunk with these fields as an event."""
    return _chunk(fields, finish)


def event(text: str = "", finish: str | None = None, **more: Any) -> bytes:
    """A chunk of text as an event, with `more` beside its choices."""
    return _chunk({"content": text} if text else {}, finish, **more)


def _chunk(fields: dict[str, Any], finish: str | None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    return b"data: " + json.dumps({"choices": [choice], **more}).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"
GOOD = (event("Hel"), event("lo"), event(finish="stop"), DONE)


class Talk:
    """A request, and what a test may do with it."""

    def __init__(self, handler: BaseHTTPRequestHandler, document: dict[str, Any]) -> None:
        self.handler, self.document = handler, document
        self.headers = dict(handler.headers)

    def reply(self, status: int, body: bytes, content_type: str = "application/json", **headers: str) -> None:
        """Send a whole answer."""
        self.handler.send_response(status)
        for name, value in {"Content-Type": content_type, "Content-Length": str(len(body)), **headers}.items():
            self.handler.send_header(name.replace("_", "-"), value)
        self.handler.end_headers()
        self.handler.wfile.write(body)

    def json(self, document: Any, status: int = 200, **headers: str) -> None:
        """Send JSON."""
        self.reply(status, json.dumps(document).encode(), **headers)

    def stream(self, *pieces: bytes, pause_s: float = 0.0, content_type: str = "text/event-stream") -> None:
        """Begin a stream, send pieces, and leave it open until the handler returns."""
        self.handler.send_response(200)
        self.handler.send_header("Content-Type", content_type)
        self.handler.send_header("Connection", "close")
        self.handler.end_headers()
        for piece in pieces:
            self.send(piece)
            time.sleep(pause_s)

    def send(self, piece: bytes) -> None:
        """Send more of a stream."""
        self.handler.wfile.write(piece)
        self.handler.wfile.flush()

    def reset(self) -> None:
        """Break the connection, as a killed process does."""
        self.handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.handler.connection.close()

    def until_left(self) -> None:
        """Wait until the client has closed its end."""
        self.handler.connection.settimeout(60)
        with suppress(ConnectionError):  # it closed before it had read everything
            assert self.handler.connection.recv(1) == b""


Answer = Callable[[Talk], None]


@dataclass
class Hostile:
    """A server that does what a test says for each path. `seen` are the requests so far."""

    chat: Answer = lambda talk: talk.stream(*GOOD)
    models: Answer = lambda talk: talk.json({"data": [{"id": MODEL, "max_model_len": 1000}]})
    pages: dict[str, Answer] = field(default_factory=dict)
    seen: list[tuple[str, Talk]] = field(default_factory=list)
    url: str = ""

    def answer(self, path: str, talk: Talk) -> None:
        """Do as the test wants."""
        self.seen.append((path, talk))
        known = {"/v1/chat/completions": self.chat, "/v1/models": self.models, **self.pages}
        known.get(path, lambda talk: talk.json({"detail": "Not Found"}, status=404))(talk)

    @property
    def chats(self) -> list[Talk]:
        """The questions asked."""
        return [talk for path, talk in self.seen if path == "/v1/chat/completions"]


def large(talk: Talk) -> None:
    """List a model whose context holds a lot of code."""
    talk.json({"data": [{"id": MODEL, "max_model_len": 30_000}]})


@contextmanager
def served(hostile: Hostile) -> Iterator[Hostile]:
    """Serve on a free port of this machine."""

    class Handler(BaseHTTPRequestHandler):
        def handle_any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            document = json.loads(self.rfile.read(length)) if length else {}
            try:
                hostile.answer(self.path, Talk(self, document))
            except OSError:
                self.close_connection = True  # the client has left

        do_GET = do_POST = handle_any  # noqa: N815

        def log_message(self, *_arguments: Any) -> None:
            """Tests print nothing."""

    with running(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        hostile.url = f"http://127.0.0.1:{server.server_port}"
        yield hostile
