"""The web server, and whom it admits: the right host, a token or a user's key where needed, JSON of a limited size."""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import re
import socket
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

import uvicorn
from starlette.requests import Request
from starlette.types import ASGIApp

from winnow_engine.platform import is_unix
from winnow_engine.targets.remote.address import is_loopback
from winnow_lsp.http.fields import ApiError

_LEAVE_S = 5  # for answers in progress when the server is told to stop
_CANCEL_S = 2  # for those that have not ended by then
_IDLE_S = 120  # longer than clients keep a connection that nobody uses: it must not close while they send on it
_LINE = re.compile(r"(?P<user>\S+)\s+(?P<key>\S+)")
_SHORTEST = 16  # characters of a key: fewer could be guessed
_log = logging.getLogger(__name__)
TOKEN_VARIABLE, KEYS_VARIABLE = "WINNOW_HTTP_TOKEN", "WINNOW_HTTP_KEYS"
MOST_BYTES = 16 << 20


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens at an address. Raises OSError if it is not available."""
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, stop: Callable[[], bool]) -> None:
        super().__init__(config)
        self._stop, self._told_twice = stop, False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self.should_exit and not self._told_twice:
            self._told_twice = True
            asyncio.get_running_loop().call_soon_threadsafe(self._stop_now)
        else:
            super().handle_exit(sig, frame)  # told three times, uvicorn leaves at once, with a traceback

    def _stop_now(self) -> None:
        if not self._stop():
            for task in self.server_state.tasks:
                task.cancel()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        stopping = asyncio.get_running_loop().call_later(_LEAVE_S, self._stop)
        try:
            await super().shutdown(sockets)
        finally:
            stopping.cancel()


def web_server(application: ASGIApp, stop: Callable[[], bool] = lambda: False) -> uvicorn.Server:
    """A server of HTTP/1.1 that logs nothing and does not say what it is.

    Told to stop, it waits a few seconds for answers in progress, then has `stop` end them. Told twice, it does so now;
    if `stop` finds none, it cancels other requests, such as one whose body has not come. Told three times, it leaves.
    """
    config = uvicorn.Config(
        application,
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=_LEAVE_S + _CANCEL_S,
    )
    return _Server(config, stop)


async def gone(request: Request) -> None:
    """Return when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


class KeyFile:
    """Lines of a user's name and key. Empty lines, and those that begin with `#`, do not count."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raises ValueError if others can read it, or a line is no name and key."""
        self._path = path
        self.problem: str | None = None
        self._seen, self._keys = self._read()

    def user(self, key: str) -> str | None:
        """Whose key this is; nobody's while the file has a `problem`. The time does not tell which key came close."""
        self._refresh()
        found = [name for name, known in self._keys.items() if hmac.compare_digest(known.encode(), key.encode())]
        return found[0] if found else None

    def _refresh(self) -> None:
        """Read the file again if it changed. One that is unsound now has no keys: some may have been removed."""
        try:
            if self.problem or self._changed():
                self._seen, self._keys = self._read()
                self.problem = None
        except ValueError as error:
            if str(error) != self.problem:
                _log.error("no key counts: %s", error)
            self._keys, self.problem = {}, str(error)

    def _changed(self) -> bool:
        try:
            return _stamp(self._path) != self._seen
        except OSError:
            return True

    def _read(self) -> tuple[tuple[int, ...], dict[str, str]]:
        try:
            seen, text = _stamp(self._path), self._path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"the keys in {self._path} cannot be read: {error}") from error
        if is_unix() and seen[-1] & (stat.S_IRWXG | stat.S_IRWXO):
            raise ValueError(f"others can read the keys in {self._path}: chmod 600 {self._path}")
        return seen, _keys(self._path, text)


def _stamp(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode


def _keys(path: Path, text: str) -> dict[str, str]:
    keys: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"{path}, line {number}: a line is a user's name, a space, and the key")
        if len(match["key"]) < _SHORTEST:
            raise ValueError(f"{path}, line {number}: a key has {_SHORTEST} characters at least")
        if match["user"] in keys or match["key"] in keys.values():
            raise ValueError(f"{path}, line {number}: the name or the key is there already")
        keys[match["user"]] = match["key"]
    if not keys:
        raise ValueError(f"{path} has no key: write a user's name, a space, and a key on a line")
    return keys


@dataclass(frozen=True, slots=True)
class Guard:
    """The rules of one server. Without a token and keys, only programs on this machine may ask.

    Pages may read its answers only if they are of one of the `origins`, such as `http://localhost:3000`.
    """

    token: str | None
    keys: KeyFile | None = None
    origins: tuple[str, ...] = ()

    @classmethod
    def of(cls, host: str, origins: Sequence[str] = ()) -> Guard:
        """The rules on `host`, with the environment's token and keys. ValueError if unsound, or anybody could ask."""
        token, file = (os.environ.get(name, "").strip() or None for name in (TOKEN_VARIABLE, KEYS_VARIABLE))
        if token is None and file is None and not is_loopback(host):
            raise ValueError(
                f"{host} can be reached from other machines: put a token that they must send into {TOKEN_VARIABLE}, "
                f"or name a file with a key for each user in {KEYS_VARIABLE}"
            )
        allowed = tuple(map(_loopback_origin, origins))
        return cls(token, KeyFile(Path(file)) if file else None, allowed)

    @property
    def knows_askers(self) -> bool:
        """True if requests need a token or a key; otherwise their host name is checked."""
        return self.token is not None or self.keys is not None

    def check(self, request: Request) -> str | None:
        """The user who asks, where users have keys. Raises ApiError for a request that may not be answered."""
        if not self.knows_askers:
            _check_host(request.headers.get("host", ""))
            return None
        sent = _sent(request)
        user = self.keys.user(sent) if self.keys else None
        if user is None and not (self.token and hmac.compare_digest(sent.encode(), self.token.encode())):
            if self.keys and self.keys.problem:
                raise ApiError(503, "the file of keys cannot be used: see the server's log", code="keys_unusable")
            raise ApiError(401, "the bearer token is missing or wrong", code="invalid_api_key")
        _log.info("%s: %s %s", user or "by the token", request.method, request.url.path)
        return user


async def read_body(request: Request) -> bytes:
    """A request's body. Raises ApiError if its content type is not JSON or it is too long."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # any other type, a page of another origin may send without a preflight request
        raise ApiError(415, f"the content type must be application/json, not {kind or 'missing'}")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise ApiError(413, f"the body is over {MOST_BYTES:,} bytes", code="request_too_large")
    return bytes(body)


def _loopback_origin(text: str) -> str:
    """An origin of this machine as browsers write it. Raises ValueError for any other."""
    parts = urlsplit(text.rstrip("/").lower())
    if parts.scheme in ("http", "https") and parts.netloc and is_loopback(parts.hostname or ""):
        origin = f"{parts.scheme}://{parts.netloc}"
        if origin == text.rstrip("/").lower() and "@" not in origin:
            return origin
    raise ValueError(f"{text!r} is no origin of pages on this machine: write http://localhost:PORT")


def _sent(request: Request) -> str:
    """The token, as OpenAI's clients send it (Authorization: Bearer), or as Anthropic's do (x-api-key)."""
    scheme, _, sent = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        sent = request.headers.get("x-api-key", "")
    found = sent.encode("latin-1").strip()  # as bytes, for as Latin-1 the last byte of "à" is a space
    try:
        return found.decode()
    except UnicodeDecodeError:  # a browser sends Latin-1
        return found.decode("latin-1")


def _check_host(header: str) -> None:
    """Refuse a page whose name was made to resolve to this machine (DNS rebinding): it sends its own name."""
    name = header[1:].partition("]")[0] if header.startswith("[") else header.partition(":")[0]
    if not is_loopback(name.lower()):
        raise ApiError(403, f"this server is for this machine; it is not called {name!r}", code="wrong_host")
