"""A bare LSP client, light enough to measure with: JSON in and out, and the time at which each reply came."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import socket
import struct
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVE = [sys.executable, "-m", "winnow_lsp", "serve"]
CAPABILITIES = {"window": {"workDoneProgress": True}}
_LONGEST_LINE = 1 << 24

Notified = Callable[[str, Any], None]


@dataclass(frozen=True)
class Reply:
    """The answer to a request; `at` is the `time.perf_counter` reading when it came."""

    at: float
    result: Any
    error: Mapping[str, Any] | None


class Client:
    """One connection. Requests from the server are answered with null."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._ids = itertools.count()
        self._waiting: dict[int, asyncio.Future[Reply]] = {}
        self.on_notification: Notified = lambda _method, _params: None
        self.reading = asyncio.create_task(self._read())

    @classmethod
    async def connect(cls, host: str, port: int) -> Client:
        """A client of the server that listens at this address."""
        return cls(*await asyncio.open_connection(host, port, limit=_LONGEST_LINE))

    def send(self, method: str, params: Any) -> tuple[int, asyncio.Future[Reply]]:
        """Send a request. Returns its id and its reply, which is cancelled if the server goes away first."""
        identity = next(self._ids)
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting[identity] = reply
        self._write({"id": identity, "method": method, "params": params})
        return identity, reply

    def request(self, method: str, params: Any) -> asyncio.Future[Reply]:
        """Send a request. Returns its reply."""
        return self.send(method, params)[1]

    def notify(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._write({"method": method, "params": params})

    async def initialize(self, root: Path, options: Mapping[str, Any]) -> None:
        """Open a folder with settings."""
        folder = {"rootUri": root.as_uri(), "processId": os.getpid(), "capabilities": CAPABILITIES}
        await self.request("initialize", folder | {"initializationOptions": options})
        self.notify("initialized", {})

    async def leave(self) -> None:
        """Shut down in the orderly way."""
        await self.request("shutdown", None)
        self.notify("exit", None)
        await self.reading

    async def vanish(self) -> None:
        """Reset the connection, whatever is going on."""
        linger_no_time = struct.pack("ii", 1, 0)
        self._writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_no_time)
        self._writer.transport.abort()
        await self.reading

    def _write(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def _read(self) -> None:
        try:
            while header := await self._reader.readuntil(b"\r\n\r\n"):
                length = int(header.split(b"\r\n")[0].removeprefix(b"Content-Length: "))
                self._received(json.loads(await self._reader.readexactly(length)), time.perf_counter())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the end of the stream, whichever side ended it
        finally:
            self._writer.close()
            for reply in self._waiting.values():
                reply.cancel()

    def _received(self, message: dict[str, Any], at: float) -> None:
        if "method" not in message:
            reply = self._waiting.pop(message["id"])
            if not reply.cancelled():
                reply.set_result(Reply(at, message.get("result"), message.get("error")))
        elif "id" in message:
            self._write({"id": message["id"], "result": None})
        else:
            self.on_notification(message["method"], message["params"])


@asynccontextmanager
async def tcp_server(environment: Mapping[str, str]) -> AsyncIterator[tuple[str, int, Process]]:
    """A server process that listens on a port of its choice, as (host, port, process)."""
    process = await asyncio.create_subprocess_exec(*SERVE, "--tcp", "127.0.0.1:0", stderr=PIPE, env=environment)
    assert process.stderr is not None
    try:
        ready = (await process.stderr.readuntil(b"\n")).decode()
        host, port = ready.rpartition(" ")[2].strip().rsplit(":", 1)
        yield host, int(port), process
    finally:
        process.terminate()
        await process.wait()
