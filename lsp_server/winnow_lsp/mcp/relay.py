"""Passes bytes between an agent on standard input and output and the server behind a socket.

It greets the agent itself, because the server may have to be started first.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import BufferedReader, FileIO
from pathlib import Path
from socket import SocketIO
from threading import Thread
from typing import Any

from winnow_lsp.host.standard_output import pass_on, take_standard_output, write_whole
from winnow_lsp.mcp.greeting import greeting

_CHUNK = 1 << 16


class AgentRelay:
    """The agent on standard input and output. It is greeted at once, whatever else this process does meanwhile.

    Whatever else writes to standard output reaches standard error instead.
    """

    def __init__(self) -> None:
        self._in = os.fdopen(sys.stdin.fileno(), "rb", closefd=False)
        self._out = take_standard_output()
        self._first = b""
        self._greeted: object = None  # the id of the request that was answered
        self._greeting = Thread(target=self._greet, daemon=True)
        self._greeting.start()

    def serve(self, connect: Callable[[], socket.socket], workspace: Path, settings: Mapping[str, Any]) -> None:
        """Pass bytes on until the agent or the server leaves. `connect` is called once the agent has said something.

        The server is told first which folder to ask about, and the settings by name. Raises what `connect` raises.
        """
        self._greeting.join()
        if not self._first:
            return
        with connect() as server:
            opening = json.dumps({"workspace": str(workspace), "settings": settings})
            server.sendall(opening.encode() + b"\n" + self._first)
            Thread(target=pass_on, args=(self._in, server), daemon=True).start()
            with BufferedReader(SocketIO(server, "r"), _CHUNK) as answers, suppress(ConnectionError):
                if self._greeted is not None:
                    _skip(answers, self._out, self._greeted)
                while data := answers.read1(_CHUNK):
                    write_whole(self._out, data)

    def _greet(self) -> None:
        self._first = self._in.readline()
        found = greeting(self._first)
        if found is not None:
            self._greeted = found[0]
            write_whole(self._out, found[1])


def _skip(answers: BufferedReader[SocketIO], agent: FileIO, identity: object) -> None:
    """Leave out the server's answer to what has been answered."""
    while line := answers.readline():
        message = json.loads(line)
        if message.get("id") == identity and "method" not in message:
            return
        write_whole(agent, line)
