"""The Unix socket or port at which a user's commands find their shared server, and nobody else does.

Commands that run other code, or with other environment variables, meet another server: the socket's name says which.
Where the system has no Unix sockets, the file of that name holds a port of this machine.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import socket
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from winnow_engine import platform as system
from winnow_engine.storage.folders import cache_folder

SWITCH = "WINNOW_SERVER"  # the environment variable that says whether commands ask the shared server

HANDSHAKE_S = 5.0
LONGEST_LINE = 16 << 20  # bytes of one message of an agent's; those of the language server say their length

_PACKAGES = ("winnow_cuda", "winnow_engine", "winnow_lsp")
_LONGEST_RUNTIME = 107 - len("/winnow/0123456789abcdef.sock")
_VARIABLES = ("CUDA_", "GGML_", "LLAMA_", "NUMBA_", "WINNOW_", "XDG_DATA_HOME")

_LOOPBACK, _LONGEST_FILE = "127.0.0.1", 200  # bytes of a port's file

_OF_COMMANDS = (SWITCH, "WINNOW_TARGET", "WINNOW_DRAFTER")  # variables that commands heed, and pass on as settings


class UnsafeFolderError(Exception):
    """The folder for sockets belongs to somebody else, or others may write to it."""


@dataclass(frozen=True, slots=True)
class Port:
    """A port, the process that serves there, and a secret that is in its file, which only the user can read.

    A client sends the secret's `digest`, then the server the secret. A web page knows neither; nor does a program of
    another user that got the port of a server that was killed.
    """

    number: int
    process: int
    secret: bytes

    @classmethod
    def of(cls, file: Path) -> Port:
        """The port of a file. Raises OSError; ValueError for a file that is not whole."""
        number, process, secret = system.read_regular(file, _LONGEST_FILE).split()
        return cls(int(number), int(process), secret)

    @property
    def digest(self) -> bytes:
        """Proof that a client has read the file."""
        return hashlib.sha256(self.secret).hexdigest().encode()

    def greet(self, connection: socket.socket) -> None:
        """Connect to the server, and introduce this client. Raises OSError if another program listens."""
        connection.settimeout(HANDSHAKE_S)
        connection.connect((_LOOPBACK, self.number))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(self.digest)
        if connection.recv(len(self.secret)) != self.secret:  # in one piece, or a stranger could make us wait for each
            raise ConnectionError(f"another program has port {self.number}")
        connection.settimeout(None)


def connect(place: Path) -> tuple[socket.socket, int]:
    """A connection to the server at a place, and its process. Raises OSError; ValueError for a file that is not whole.

    A port's file is read once: the next server may replace it meanwhile.
    """
    port = None if system.has_private_sockets() else Port.of(place)
    connection = socket.socket(socket.AF_INET if port else socket.AF_UNIX)
    try:
        port.greet(connection) if port else connection.connect(str(place))
        return connection, port.process if port else system.peer(connection)[0]
    except OSError:
        connection.close()
        raise


@contextmanager
def listening(place: Path) -> Iterator[socket.socket]:
    """A socket that only this user can connect to, or that tells users apart by what is in its file."""
    unix = system.has_private_sockets()
    place.unlink(missing_ok=True)  # of a server that was killed
    with socket.socket(socket.AF_UNIX if unix else socket.AF_INET) as opened:
        before = os.umask(0o177)
        try:
            opened.bind(str(place) if unix else (_LOOPBACK, 0))
            if not unix:
                place.write_text(f"{opened.getsockname()[1]} {os.getpid()} {os.urandom(32).hex()}")
        finally:
            os.umask(before)
        try:
            yield opened
        finally:
            place.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """The files of a shared server: of sockets for commands and `agents`, the `lock` that it holds, and its `log`."""

    socket: Path
    agents: Path
    lock: Path
    log: Path


def server_files(environment: Mapping[str, str] = os.environ) -> ServerFiles:
    """The files for commands like this one. Raises UnsafeFolderError, or OSError if there can be no folder."""
    return _files(_folder(environment) / _name(environment))


def all_server_files() -> list[ServerFiles]:
    """The files of all servers of this user, killed ones too. Raises as `server_files`."""
    return [_files(socket) for socket in sorted(_folder(os.environ).glob("*.sock"))]


def _files(beside: Path) -> ServerFiles:
    return ServerFiles(*(beside.with_suffix(suffix) for suffix in (".sock", ".mcp", ".lock", ".log")))


def _folder(environment: Mapping[str, str]) -> Path:
    """A folder that only this user can enter, near the root: the paths of sockets have at most 107 bytes.

    Without sockets it is in the user's own folders: on Windows nothing tells whose a folder elsewhere is.
    """
    cache = None if system.has_private_sockets() else system.user_folder("cache")
    runtime = Path(environment.get("XDG_RUNTIME_DIR") or "none")
    own = runtime.is_absolute() and runtime.is_dir() and len(os.fsencode(runtime)) <= _LONGEST_RUNTIME
    folder = runtime / "winnow" if own else Path(tempfile.gettempdir()) / f"winnow-{system.user()}"
    folder = cache / "server" if cache else folder
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    others = system.is_unix() and found.st_mode & 0o077
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != system.user() or others:
        raise UnsafeFolderError(f"{folder} is not a folder that only you can enter: remove it")
    return folder


def _name(environment: Mapping[str, str]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    settings = sorted(
        item for item in environment.items() if item[0].startswith(_VARIABLES) and item[0] not in _OF_COMMANDS
    )
    for part in (sys.executable, str(cache_folder(environment)), repr(settings), *_versions()):
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    return digest.hexdigest()


def _versions() -> Iterator[str]:
    """The state of the code: where each package lies, with the number of its files and when one last changed."""
    for package in _PACKAGES:
        spec = importlib.util.find_spec(package)
        assert spec is not None, package
        for place in spec.submodule_search_locations or ():
            times = [path.stat().st_mtime_ns for path in Path(place).rglob("*.py")]
            yield f"{place} {len(times)} {max(times, default=0)}"
