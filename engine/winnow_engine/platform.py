"""Differences of operating systems. Nothing else in the engine or the server asks which one this is.

Branches go by `PLATFORM`, which tests set. Those of macOS and Windows were never tried on such machines.
"""

from __future__ import annotations

import errno
import importlib
import os
import re
import shlex
import shutil
import signal
import socket
import stat
import struct
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import platformdirs

PLATFORM = sys.platform  # as in `sys.platform`: linux, darwin or win32

READ_FLAGS = os.O_RDONLY | sum(
    getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK", "O_BINARY", "O_NOINHERIT")
)
"""Opens a file to read its bytes, if this system can without following a link or waiting for a writer."""

_UCRED = struct.Struct("3i")  # Linux, struct ucred: process, user, group
_XUCRED = struct.Struct("=IIh2x16I")  # macOS, struct xucred: version, user, number of groups, groups
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2  # macOS, sys/un.h
_BELOW_HOME = {"cache": ".cache", "config": ".config", "data": ".local/share"}  # XDG Base Directory
_CGROUP = Path("/sys/fs/cgroup")
_LEAST_CRASH = 0xC0000000  # Windows, NTSTATUS: severity "error"


def read_regular(path: Path | str, limit: int) -> bytes:
    """The first `limit` bytes of a regular file, whatever lies at its path.

    Raises OSError if there is none; also, without waiting, for a symbolic link, a FIFO, a socket or a device, even if
    the path became one only after it was listed.
    """
    try:
        handle = os.open(path, READ_FLAGS)
    except ValueError as error:  # a NUL in the path
        raise OSError(errno.EINVAL, "not a path", str(path)) from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(handle)


def is_file(path: Path) -> bool:
    """True if this user finds a file there: not in a folder that must not be entered, or with too long a name."""
    return os.path.isfile(path)  # noqa: PTH113 - Path.is_file raises PermissionError


def expanded(path: str) -> Path:
    """A path with the home folder for `~`; as given where there is no such user."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - Path.expanduser raises RuntimeError


def home() -> Path | None:
    """The user's home folder; None where neither HOME nor an account says where that is, as in some containers."""
    folder = expanded("~")
    return folder if folder.is_absolute() else None


def user_folder(kind: Literal["cache", "config", "data"]) -> Path | None:
    """Winnow's folder of that kind of the user; None without a home, unless the environment names the folder.

    A relative one, which the XDG specification says to ignore, could lead into a repository.
    """
    try:
        folder = Path(getattr(platformdirs, f"user_{kind}_dir")("winnow"))
    except RuntimeError:
        return None
    if folder.is_absolute():
        return folder
    return own / _BELOW_HOME[kind] / "winnow" if (own := home()) else None


def is_folder(path: Path) -> bool:
    """True if this user finds a folder there."""
    return os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises PermissionError


def user() -> int:
    """The user's number, as `st_uid` of a file has it: on Windows always 0."""
    return 0 if PLATFORM == "win32" else os.getuid()


def try_lock(descriptor: int) -> bool:
    """Lock a file that is open for writing; False if somebody has. The system unlocks it when it is closed."""
    try:
        if PLATFORM == "win32":
            windows: Any = importlib.import_module("msvcrt")
            windows.locking(descriptor, windows.LK_NBLCK, 1)
        else:
            unix: Any = importlib.import_module("fcntl")
            unix.flock(descriptor, unix.LOCK_EX | unix.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def has_private_sockets() -> bool:
    """True if there are sockets that name the process at their other end. Python has none on Windows."""
    return PLATFORM in ("linux", "darwin")


def peer(connection: socket.socket) -> tuple[int, int]:
    """The process and the user at the other end of a connected Unix socket, as the kernel knows them."""
    if PLATFORM == "darwin":
        credentials = connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED.size)
        return connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID), _XUCRED.unpack(credentials)[1]
    process, number, _ = _UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
    return process, number


def is_unix() -> bool:
    """True if a process can fork, end at a signal and hand on sockets, and a file's mode says who may read it."""
    return PLATFORM != "win32"


def watches_single_folders() -> bool:
    """True if each watched folder takes one of few watches. Elsewhere a folder is watched with everything below it."""
    return PLATFORM == "linux"


def path_of_uri(host: str, path: str) -> str:
    """The path in a `file:` URI as this system writes it. On Windows /C:/x is C:/x, and /x on another host //host/x."""
    place = path if host in ("", "localhost") else f"//{host}{path}"
    return path if is_unix() else re.sub("^//?(?=[A-Za-z]:)", "", place)


def crash(code: int) -> str | None:
    """Name of the crash that gave a process this exit code; None if it ended by itself."""
    if PLATFORM == "win32":
        return f"{code:#x}" if code >= _LEAST_CRASH else None
    return signal.Signals(-code).name if code < 0 else None


def on_path(name: str) -> str | None:
    """A program on the PATH, none of the folder that one is in, such as a repository."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return program_in((one for one in folders if Path(one).is_absolute() and Path(one) != Path.cwd()), name)


def program_in(folders: Iterable[str], name: str) -> str | None:
    """A program in the first folder that has it. `shutil.which` looks into the current one before, on Windows."""
    endings = os.environ.get("PATHEXT", ".EXE").split(os.pathsep) if PLATFORM == "win32" else [""]
    files = (str(Path(folder, name + ending)) for folder in folders for ending in endings)
    return next(filter(None, map(shutil.which, files)), None)


def pip_command(action: str, *words: str) -> str:
    """The command that has pip, or what the installer of this environment has for it, do something here."""
    if Path(sys.prefix, "uv-receipt.toml").is_file():
        return shlex.join(["uv", "pip", action, "--python", sys.prefix, *words])
    if Path(sys.prefix, "pipx_metadata.json").is_file():
        return shlex.join(["pipx", "runpip", Path(sys.prefix).name, action, *words])
    return shlex.join(["pip", action, *words])


def physical_cores() -> int:
    """Physical cores; on Linux those that this process may use, by its affinity and its container's quota."""
    if PLATFORM != "linux":
        import psutil  # every command imports this module

        return psutil.cpu_count(logical=False) or os.cpu_count() or 1
    cpus = os.sched_getaffinity(0)
    siblings = [Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") for cpu in cpus]
    cores = len({path.read_text() for path in siblings if path.is_file()}) or len(cpus)
    with suppress(OSError, ValueError):  # there is no such thing, or no quota
        quota, period = map(int, (_CGROUP / "cpu.max").read_text().split())
        return min(cores, max(1, quota // period))
    return cores


def free_memory() -> int:
    """Bytes of memory that this process may still take. A container's limit counts; caches of files count as taken."""
    import psutil  # every command imports this module

    free = int(psutil.virtual_memory().available)
    try:
        most, used = (int((_CGROUP / name).read_text()) for name in ("memory.max", "memory.current"))
    except (OSError, ValueError):  # there is no such thing, or no limit
        return free
    return min(free, most - used)
