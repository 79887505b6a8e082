"""When a conversation ends, that the client's server always leaves, and standard streams that cannot be polled."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from winnow_lsp.server.wire.transport import converse


class Server:
    """Notes what it receives and whether it has left; `exit` ends the conversation."""

    def __init__(self) -> None:
        self.protocol, self.received, self.has_left, self.left = self, list[bytes](), False, False

    def set_writer(self, _writer: object) -> None:
        pass

    def receive(self, body: bytes) -> None:
        self.received.append(body)
        self.left = body == b"exit"

    async def leave(self) -> None:
        self.has_left = True


@pytest.mark.parametrize(
    "stream",
    [
        b"Content-Length: 1\r\n\r\nxContent-Length: 4\r\n\r\nexitContent-Length: 1\r\n\r\ny",
        b"Content-Length: 1\r\n\r\nxContent-Length: 4\r\n\r\nexit",
        b"Content-Length: 1\r\n\r\nx",
        b"Content-Length: 1\r\n\r\nxGET / HTTP/1.1\r\n\r\n",
    ],
    ids=["after exit", "at exit", "at the end of the stream", "at what is no message"],
)
async def test_a_conversation_ends(stream: bytes) -> None:
    reader, closed = asyncio.StreamReader(), asyncio.Event()
    reader.feed_data(stream)
    reader.feed_eof()
    server = Server()
    await converse(server, reader, SimpleNamespace(close=closed.set))
    assert (server.received[:1], server.received[1:] in ([], [b"exit"])) == ([b"x"], True)
    assert server.has_left
    assert closed.is_set()


def framed(message: object) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def test_standard_streams_that_cannot_be_polled_are_served_too(tmp_path: Path) -> None:
    windows = "import sys; from winnow_engine import platform; platform.PLATFORM = 'win32'"
    serve = f"{windows}; from winnow_lsp.cli.main import main; sys.exit(main())"
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": None, "capabilities": {}}},
        {"jsonrpc": "2.0", "method": "initialized", "params": {}},
        {"jsonrpc": "2.0", "id": 2, "method": "shutdown"},
        {"jsonrpc": "2.0", "method": "exit"},
    ]
    done = subprocess.run(
        [sys.executable, "-c", serve, "serve"],
        input=b"".join(map(framed, messages)),
        env={**os.environ, "WINNOW_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b'"id": 1' in done.stdout or b'"id":1' in done.stdout
    assert done.stdout.rstrip().endswith(b"}")
