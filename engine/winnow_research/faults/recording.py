"""What a program does to the files of a folder, as strace sees it: writes, renames, syncs, each with its times.

All of it goes through the kernel, SQLite's part too, so nothing of the program has to be replaced. What this does not
know how to read is an error rather than left out.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_BY_NAME = (
    "open,openat,creat,truncate,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat,symlink,"
    "symlinkat"
)
_BY_HANDLE = (
    "write,pwrite64,writev,pwritev,pwritev2,ftruncate,fsync,fdatasync,sync_file_range,mmap,fallocate,copy_file_range,"
    "sendfile,lseek"
)
_LONGEST = 1 << 22  # bytes of one write
_HEX = r"((?:\\x[0-9a-f]{2})*)"
_LINE = re.compile(r"(\d+\.\d+) (\w+)\((.*)\) += (\d+|0x[0-9a-f]+)(?:<.*>)?(?:\(deleted\))? <([\d.]+)>")
_HANDLE = re.compile(rf"(\d+|AT_FDCWD)<{_HEX}>(\(deleted\))?")
_TEXT = re.compile(rf'"{_HEX}"(\.\.\.)?')
_EITHER = re.compile(f"{_HANDLE.pattern}|{_TEXT.pattern}")


@dataclass(frozen=True, slots=True)
class Op:
    """One thing done to a path below the folder, between two times. `kind` says which, and what else there is.

    create, unlink, mkdir, rmdir, sync: only the path; write: `data` at `offset`; resize: to `offset` bytes;
    rename: to `target`; note: `data` that the program wrote to the file of notes.
    """

    kind: str
    start: float
    end: float
    path: str = ""
    offset: int = 0
    data: bytes = b""
    target: str = ""


def available() -> bool:
    """Whether strace is there, and may trace."""
    return (
        shutil.which("strace") is not None and subprocess.run(["strace", "-qqq", "-e", "none", "true"]).returncode == 0
    )


def record(command: Sequence[str], folder: Path, notes: Path, scratch: Path) -> list[Op]:
    """Run a command, which must end well; what it did to the files of `folder`, and its `notes`, in order."""
    scratch.mkdir()
    traced = ["strace", "-ff", "-q", "-y", "-xx", "-T", "-s", str(_LONGEST), "--seccomp-bpf", "-o", f"{scratch}/trace"]
    calls = ["--absolute-timestamps=format:unix,precision:ns", "-e", f"trace={_BY_NAME},{_BY_HANDLE}"]
    traced += [*calls, *command]
    done = subprocess.run(traced, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    ops = [op for trace in scratch.glob("trace.*") for op in _ops(trace, folder, notes)]
    return sorted(ops, key=lambda op: (op.start, op.end))


def _ops(trace: Path, folder: Path, notes: Path) -> Iterator[Op]:
    """What one thread did."""
    reader = _Reader(f"{folder}/", os.fspath(notes))
    for line in trace.read_text(encoding="ascii").splitlines():
        if found := _LINE.fullmatch(line):
            yield from reader.read(*found.groups())


class _Reader:
    """Reads the calls of one thread, in order. It knows the positions of the files that this thread opened."""

    def __init__(self, folder: str, notes: str) -> None:
        self._folder, self._notes = folder, notes
        self._positions: dict[str, int] = {}

    def read(self, start_s: str, name: str, arguments: str, result: str, lasted_s: str) -> Iterator[Op]:
        """The operations of a call that succeeded."""
        paths = self._named(arguments) if name in _BY_NAME.split(",") else self._held(arguments)
        if not paths:
            return
        path, start = paths[0], float(start_s)
        times = start, start + float(lasted_s)
        if name in ("open", "openat", "creat"):
            yield from self._opened(name, path, arguments, result, times)
        elif name in ("write", "pwrite64"):
            offset = self._moved(name, arguments, int(result))
            yield Op("write" if path else "note", *times, path, offset, _data(arguments)[: int(result)])
        elif name == "lseek":
            self._positions[_handle(arguments)] = int(result)
        elif name in ("ftruncate", "truncate"):
            yield Op("resize", *times, path, int(arguments.rsplit(", ", 1)[1]))
        elif name.startswith("rename"):
            assert len(paths) == 2, f"a file enters or leaves the folder: {paths}"
            yield Op("rename", *times, path, target=paths[1])
        elif name in ("fsync", "fdatasync"):
            yield Op("sync", *times, path)
        elif name in ("unlink", "unlinkat", "rmdir", "mkdir", "mkdirat"):
            yield Op("rmdir" if "AT_REMOVEDIR" in arguments else name.removesuffix("at"), *times, path)
        else:
            assert name == "mmap", f"cannot follow {name} of {path}"
            assert not ("PROT_WRITE" in arguments and "MAP_SHARED" in arguments), f"{path} is written through memory"

    def _opened(self, name: str, path: str, arguments: str, result: str, times: tuple[float, float]) -> Iterator[Op]:
        self._positions[result] = 0
        if path and (name == "creat" or "O_CREAT" in arguments):
            yield Op("create", *times, path)
        if path and (name == "creat" or "O_TRUNC" in arguments):
            yield Op("resize", *times, path)

    def _moved(self, name: str, arguments: str, size: int) -> int:
        """Where so many bytes were written."""
        if name == "pwrite64":
            return int(arguments.rsplit(", ", 1)[1])
        handle = _handle(arguments)
        self._positions[handle] += size
        return self._positions[handle] - size

    def _named(self, arguments: str) -> list[str]:
        """The paths that are named below the folder. A name counts from the handle before it."""
        beside, paths = "", []
        for found in _EITHER.finditer(arguments):
            if found[1] is not None:
                beside = _text(found[2])
            else:
                paths.append(os.path.join(beside, _text(found[4])))  # noqa: PTH118  a path of the traced process
        return self._below(paths)

    def _held(self, arguments: str) -> list[str]:
        """The path of the handle. A file that was deleted meanwhile does not matter any more."""
        found = _HANDLE.search(arguments)
        return self._below([_text(found[2])]) if found and not found[3] else []

    def _below(self, paths: list[str]) -> list[str]:
        """Paths relative to the folder, which itself is "."; the file of notes is ""."""
        slashed = [f"{path}/" for path in paths]
        below = [path.removeprefix(self._folder).rstrip("/") for path in slashed if path.startswith(self._folder)]
        return [path or "." for path in below] + [""] * paths.count(self._notes)


def _handle(arguments: str) -> str:
    return arguments.partition("<")[0]


def _data(arguments: str) -> bytes:
    found = _TEXT.search(arguments)
    assert found is not None, arguments[:100]
    assert not found[2], "a write is longer than what strace was asked to show"
    return bytes.fromhex(found[1].replace("\\x", ""))


def _text(hexadecimal: str) -> str:
    return os.fsdecode(bytes.fromhex(hexadecimal.replace("\\x", "")))
