"""An extension gallery on loopback, with as much of Open VSX's API as publishing needs: it keeps what it is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from http_servers import running


class Gallery(ThreadingHTTPServer):
    """`published` holds the packages, in the order in which they came."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Publishing)
        self.published: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


def gallery() -> AbstractContextManager[Gallery]:
    return running(Gallery())


class _Publishing(BaseHTTPRequestHandler):
    server: Gallery

    def do_POST(self) -> None:
        self.server.published.append(b"".join(self._chunks()))
        reply = json.dumps({"namespace": "winnow-lsp", "name": "winnow", "version": "0"}).encode()
        self.send_response(201)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def _chunks(self) -> Iterator[bytes]:
        """The body, which comes with chunked transfer encoding (RFC 9112, section 7.1)."""
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def log_message(self, format: str, *arguments: object) -> None:
        """Say nothing."""
