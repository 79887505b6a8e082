"""The Unix socket at which a user's commands find their shared server, and nobody else does.

Commands that run other code, or with other environment variables, meet another server: the socket's name says which.
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
from dataclasses import dataclass
from pathlib import Path

from winnow_engine import platform as system
from winnow_engine.storage.folders import cache_folder

SWITCH = "WINNOW_SERVER"  # the environment variable that says whether commands ask the shared server

LONGEST_LINE = 16 << 20  # bytes of one message of an agent's; those of the language server say their length

_PACKAGES = ("winnow_cuda", "winnow_engine", "winnow_lsp")
_LONGEST_RUNTIME = 107 - len("/winnow/0123456789abcdef.sock")
_VARIABLES = ("CUDA_", "GGML_", "LLAMA_", "NUMBA_", "WINNOW_", "XDG_DATA_HOME")

_OF_COMMANDS = (SWITCH, "WINNOW_TARGET", "WINNOW_DRAFTER")  # variables that commands heed, and pass on as settings


class UnsafeFolderError(Exception):
    """The folder for sockets belongs to somebody else, or others may write to it."""


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end of a socket."""

    process: int
    user: int

    @classmethod
    def of(cls, connection: socket.socket) -> Peer:
        """The peer of a connected Unix socket, as the kernel knows it."""
        return cls(*system.peer(connection))

    @property
    def is_us(self) -> bool:
        """True for a process of the same user."""
        return self.user == system.user()


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """The files of a shared server: sockets for commands and `agents`, the `lock` that it holds, and its `log`."""

    socket: Path
    agents: Path
    lock: Path
    log: Path


def server_files(environment: Mapping[str, str] = os.environ) -> ServerFiles:
    """The files for commands like this one. Raises UnsafeFolderError, or OSError if there can be no folder."""
    beside = _folder(environment) / _name(environment)
    return ServerFiles(*(beside.with_suffix(suffix) for suffix in (".sock", ".mcp", ".lock", ".log")))


def _folder(environment: Mapping[str, str]) -> Path:
    """A folder that only this user can enter, near the root: the paths of sockets have at most 107 bytes."""
    runtime = Path(environment.get("XDG_RUNTIME_DIR") or "none")
    own = runtime.is_absolute() and runtime.is_dir() and len(os.fsencode(runtime)) <= _LONGEST_RUNTIME
    folder = runtime / "winnow" if own else Path(tempfile.gettempdir()) / f"winnow-{system.user()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != system.user() or found.st_mode & 0o077:
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
