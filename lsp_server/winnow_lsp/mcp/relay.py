"""Passes bytes between an agent on standard input and output and the server behind a socket.

It greets the agent and lists the tools itself, because the server may have to be started first.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from io import BufferedReader
from pathlib import Path
from socket import SocketIO
from threading import Event, Lock, Thread
from typing import Any

from winnow_lsp.host.standard_output import pass_on, take_standard_output, write_whole
from winnow_lsp.mcp.greeting import Greeting

_CHUNK = 1 << 16


class AgentRelay:
    """The agent on standard input and output, which is greeted at once. Other output goes to standard error."""

    def __init__(self) -> None:
        self._in = os.fdopen(sys.stdin.fileno(), "rb", closefd=False)
        self._out, self._writing = take_standard_output(), Lock()
        self._greeting, self._listed = Greeting(), Event()
        self._to_server, self._from_agent = socket.socketpair()
        Thread(target=self._listen, daemon=True).start()

    def wait_for_tools(self, seconds: float) -> None:
        """Wait until the agent has the tools, has asked for something else, or for so long."""
        self._listed.wait(seconds)

    def serve(self, connect: Callable[[], socket.socket], workspace: Path, settings: Mapping[str, Any]) -> None:
        """Pass messages on until one end leaves. The server behind `connect` gets the folder and settings first."""
        first = self._from_agent.recv(_CHUNK)
        if not first:
            return
        with connect() as server:
            opening = json.dumps({"workspace": str(workspace), "settings": settings})
            server.sendall(opening.encode() + b"\n" + first)
            Thread(target=pass_on, args=(self._from_agent.makefile("rb"), server), daemon=True).start()
            with BufferedReader(SocketIO(server, "r"), _CHUNK) as answers, suppress(ConnectionError):
                self._answer(answers)

    def _listen(self) -> None:
        """Answer what needs no server, and hand everything else on."""
        whole = True
        with self._to_server, suppress(OSError):
            while part := self._in.readline(_CHUNK):
                greeted_before = self._greeting.identity is not None
                answer = self._greeting.answer(part) if whole else None
                greets = self._greeting.identity is not None and not greeted_before
                whole = part.endswith(b"\n")
                if answer is not None:
                    self._say(answer)
                # The server has to know who the client is; an empty line has it started.
                self._to_server.sendall(part if answer is None or greets else b"\n")
                if self._greeting.listed or (answer is None and b"notifications/initialized" not in part):
                    self._listed.set()
        self._listed.set()

    def _answer(self, answers: BufferedReader[SocketIO]) -> None:
        """Pass on what the server says, but its answer to what has been answered."""
        greeted = False
        while line := answers.readline():
            if not greeted and self._greeting.identity is not None:
                message = json.loads(line)
                greeted = message.get("id") == self._greeting.identity and "method" not in message
                if greeted:
                    continue
            self._say(line)

    def _say(self, line: bytes) -> None:
        with self._writing:
            write_whole(self._out, line)
