"""Passes bytes between an agent on standard input and output and the server behind a socket.

It greets the agent and lists the tools itself, because the server may have to be started first, and without the SDK,
whose import takes longer than clients wait (MCP 2025-11-25 and 2026-07-28, Lifecycle and Tools). A test compares these
answers, which depend on nothing but the client's name and version, with the SDK's.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from importlib.metadata import version
from io import BufferedReader
from pathlib import Path
from socket import SocketIO
from threading import Event, Lock, Thread
from typing import Any

from winnow_engine.errors import NotJsonError, WinnowError
from winnow_engine.untrusted import json_object, read_json
from winnow_lsp.host.standard_output import take_standard_output, write_whole

NAME, TITLE = "winnow", "Winnow"
DISTRIBUTION = "winnow-lsp"
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The versions of the protocol that begin with `initialize`. A client that offers another one gets the last."""
STATELESS_VERSION = "2026-07-28"
"""The version whose requests each say who asks. Clients may first ask for `server/discover`."""
_META = "io.modelcontextprotocol/"

INSTRUCTIONS = """\
Winnow reads a whole repository and finds the code that answers a question in plain words, ranked, within a budget of \
tokens. Call find_code first when you do not know the exact name to search for, when a question concerns behaviour \
("where are retries limited?") or several files at once, or when grep finds too much: one call replaces several rounds \
of grep and reading files, and what it returns is the code itself with paths and line numbers. For a known string, \
give it as pattern: alone it lists every line that matches; with a question, the code that matches is ranked. \
explain_place tells what some lines use and who uses them; outline shows what is in a folder or file; ask has a \
language model on the user's machine answer, which takes seconds."""

CAPABILITIES: dict[str, Any] = {"tools": {"listChanged": False}}
_SHOW_STRUCTURED = ("claude-code", "Visual Studio Code", "Code - OSS", "VSCodium", "code-server")
_TABLE = Path(__file__).with_name("tools.json")
_CHUNK = 1 << 16
_ENDED = "Winnow's server has ended: call again, and another one is started"
_CLOSED = -32000  # as MCP's SDKs say it
_SERVER_ENDS = b'"error":{"code":-32000,'  # the SDK's answer to what is in progress when it is stopped
_INITIALIZED = b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'


def reads_text(client: str) -> bool:
    """False for a client that shows its model JSON, a third longer, in place of the text, if there is any."""
    return not client.startswith(_SHOW_STRUCTURED)


def tools(client: str) -> list[dict[str, Any]]:
    """The tools as `tools/list` has them. Structured results are announced to clients that `reads_text` is true for."""
    listed: list[dict[str, Any]] = json.loads(_TABLE.read_bytes())
    if not reads_text(client):
        for tool in listed:
            del tool["outputSchema"]
    return listed


class Greeting:
    """Answers one client's `initialize`, `server/discover` and `tools/list`."""

    def __init__(self) -> None:
        self.identity: int | str | None = None  # the id of the `initialize` that was answered
        self.listed = False  # True once the client has the list of tools
        self._client = ""

    def answer(self, line: bytes) -> bytes | None:
        """The line that answers a request; None if the server has to."""
        message = json_object(line)
        if message is None or message.get("jsonrpc") != "2.0" or not is_identity(message.get("id")):
            return None
        result = self._result(message.get("method"), message.get("params"), message["id"])
        if result is None:
            return None
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        return json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"

    def _result(self, method: object, params: Any, identity: int | str) -> dict[str, Any] | None:
        if self.identity is None and (client := _stateless_client(params)) is not None:
            return self._stateless(method, client)
        if method == "initialize" and self.identity is None and _introduces(params):
            self.identity, self._client = identity, params["clientInfo"]["name"]
            offered = params["protocolVersion"]
            return {
                "protocolVersion": offered if offered in VERSIONS else VERSIONS[-1],
                "capabilities": CAPABILITIES,
                "serverInfo": _server(),
                "instructions": INSTRUCTIONS,
            }
        if method == "tools/list" and self.identity is not None and params in (None, {}):
            self.listed = True
            return {"tools": tools(self._client)}
        return None

    def _stateless(self, method: object, client: str) -> dict[str, Any] | None:
        about = {f"{_META}serverInfo": _server()}
        result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": about}
        if method == "server/discover":
            offers = {"supportedVersions": [STATELESS_VERSION], "capabilities": CAPABILITIES}
            return {**result, **offers, "instructions": INSTRUCTIONS}
        if method == "tools/list":
            self.listed = True
            return {**result, "tools": tools(client)}
        return None


def _server() -> dict[str, str]:
    return {"name": NAME, "title": TITLE, "version": version(DISTRIBUTION)}


def _introduces(params: Any) -> bool:
    """True for parameters of `initialize` that are surely valid."""
    match params:
        case {"protocolVersion": str(), "capabilities": dict(), "clientInfo": {"name": str(), "version": str()}}:
            return True
    return False


def _stateless_client(params: Any) -> str | None:
    """The name of the client whose request has these parameters and no others; None if they may be invalid."""
    meta = params.get("_meta") if isinstance(params, dict) and len(params) == 1 else None
    if not isinstance(meta, dict) or meta.get(f"{_META}protocolVersion") != STATELESS_VERSION:
        return None
    match meta.get(f"{_META}clientInfo"):
        case {"name": str(name), "version": str()} if isinstance(meta.get(f"{_META}clientCapabilities"), dict):
            return name
    return None


def is_identity(value: object) -> bool:
    """True for what a request may have for its id."""
    return isinstance(value, int | str) and not isinstance(value, bool)


def _identities(line: bytes, *, requests: bool) -> set[int | str]:
    """The ids of a line's requests, or of its responses."""
    try:
        found = read_json(line)
    except NotJsonError:
        return set()
    messages = [one for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict)]
    return {one["id"] for one in messages if is_identity(one.get("id")) and ("method" in one) is requests}


class AgentRelay:
    """The agent on standard input and output, which is greeted at once. Other output goes to standard error."""

    def __init__(self) -> None:
        self._in = os.fdopen(sys.stdin.fileno(), "rb", closefd=False)
        self._out, self._writing = take_standard_output(), Lock()
        self._greeting, self._listed = Greeting(), Event()
        self._hello, self._left = b"", False  # the line of the `initialize` that was answered
        self._server: socket.socket | None = None
        self._waiting, self._changing = set[int | str](), Lock()  # the ids of requests that the server has to answer
        self._to_server, self._from_agent = socket.socketpair()
        Thread(target=self._listen, daemon=True).start()

    def wait_for_tools(self, seconds: float) -> None:
        """Wait until the agent has the tools, has asked for something else, or for so long."""
        self._listed.wait(seconds)

    def serve(self, connect: Callable[[], socket.socket], workspace: Path, settings: Mapping[str, Any]) -> None:
        """Pass messages on, the folder and settings first, until the agent leaves. Raises what `connect` raises.

        After a server has ended, the next request connects and greets again. If that fails, it is answered with why.
        """
        opening = json.dumps({"workspace": str(workspace), "settings": settings}).encode() + b"\n"
        with ExitStack() as session, self._from_agent.makefile("rb", _CHUNK) as lines:
            for number, line in enumerate(lines):
                requests = _identities(line, requests=True) if line != self._hello else set()
                if self._passed_on(line, requests) or (number and not requests):
                    continue
                try:
                    server = connect()
                except (WinnowError, OSError, ImportError) as error:  # ImportError: Winnow has been upgraded
                    if not number:
                        raise
                    self._refuse(requests, f"Winnow's server has ended, and there is no other one: {error}")
                    continue
                session.close()
                hello = self._hello + _INITIALIZED if number and self._hello else b""
                session.enter_context(self._session(server, opening + hello + line, requests))

    @contextmanager
    def _session(self, server: socket.socket, first: bytes, requests: set[int | str]) -> Iterator[None]:
        """Have a server answer, which is sent these bytes and requests first; when the block ends, it has ended."""
        self._server, self._waiting = server, requests
        answering = Thread(target=self._answer, args=(server,), daemon=True)
        with server:
            answering.start()
            with suppress(OSError):
                server.sendall(first)
            yield
            with suppress(OSError):
                server.shutdown(socket.SHUT_WR)
            answering.join()

    def _passed_on(self, line: bytes, requests: set[int | str]) -> bool:
        """True if the server had not ended before this line; if it ends now, the requests are told."""
        with self._changing:
            if (server := self._server) is None:
                return False
            self._waiting |= requests
        with suppress(OSError):
            server.sendall(line)
        return True

    def _listen(self) -> None:
        """Answer what needs no server, and hand everything else on."""
        with self._to_server:
            with suppress(OSError):
                while line := self._in.readline():
                    before = self._greeting.identity
                    answer = self._greeting.answer(line)
                    if greeted := self._greeting.identity != before:
                        self._hello = line
                    if answer is not None:
                        self._say(answer)
                    # The server has to know who the client is; an empty line has it started.
                    self._to_server.sendall(line if answer is None or greeted else b"\n")
                    if self._greeting.listed or (answer is None and b"notifications/initialized" not in line):
                        self._listed.set()
            self._left = True
        self._listed.set()

    def _answer(self, server: socket.socket) -> None:
        """Pass on what the server says until it ends, except its answer to what was answered here, or will be."""
        greeted = False
        with suppress(OSError), BufferedReader(SocketIO(server, "r"), _CHUNK) as answers:
            for line in answers:
                if (_SERVER_ENDS in line and not self._left) or not line.endswith(b"\n"):  # stopped, or killed
                    continue
                answered = _identities(line, requests=False)
                if not greeted and self._greeting.identity in answered:
                    greeted = True
                    continue
                self._waiting -= answered
                self._say(line)
        with self._changing:
            self._server = None
        if not self._left:
            self._refuse(self._waiting, _ENDED)

    def _refuse(self, requests: set[int | str], reason: str) -> None:
        for identity in requests:
            answer = {"jsonrpc": "2.0", "id": identity, "error": {"code": _CLOSED, "message": reason}}
            self._say(json.dumps(answer).encode() + b"\n")

    def _say(self, line: bytes) -> None:
        with self._writing, suppress(BrokenPipeError):  # the agent is leaving
            write_whole(self._out, line)
