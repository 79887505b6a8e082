"""What a disk may hold after a power cut, given what was done to it.

POSIX promises no more than this. What was synced is there. Of what was written since to a file, any sector of 512 bytes
may be there or not, and its size may be any that it had. Of the names made, changed or deleted in a folder since that
was synced, a file system with a journal keeps the first few, in order; one without keeps any. Sectors are written
whole, which SQLite assumes, too. Where a file has grown and nothing was written, there are zeros or what lay there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from random import Random

from winnow_research.faults.recording import Op

Contents = dict[str, bytes | None]
"""The content of each file by its path, None for a folder."""

_SECTOR = 512
_FOLDER = -1
_GONE = -2
_JOURNAL_SHARE, _ALL_SHARE, _NONE_SHARE, _GARBAGE_SHARE = 0.5, 0.2, 0.2, 0.25


@dataclass(slots=True)
class _File:
    """The content that is there for sure, and what was written since: (time, offset, data), or (time, size, None)."""

    durable: bytes = b""
    since: list[tuple[float, int, bytes | None]] = field(default_factory=list)

    def sync(self, before: float) -> None:
        done = [change for change in self.since if change[0] <= before]
        self.since = [change for change in self.since if change[0] > before]
        self.durable = _applied(self.durable, done)

    def now(self) -> bytes:
        """What a reader sees."""
        return _applied(self.durable, self.since)

    def survivor(self, rng: Random) -> bytes:
        """What may be left."""
        how = rng.random()
        if how < _ALL_SHARE:
            return self.now()
        if how < _ALL_SHARE + _NONE_SHARE:
            return self.durable
        sizes, content = [len(self.durable)], bytearray(self.durable)
        for change in self.since:
            sizes.append(change[1] if change[2] is None else max(sizes[-1], change[1] + len(change[2])))
        size = rng.choice(sizes)
        hole = rng.randbytes if rng.random() < _GARBAGE_SHARE else bytes
        content += hole(max(max(sizes) - len(content), 0))
        upto = {sector: rng.randint(0, len(self.since)) for sector in range(-(-max(sizes) // _SECTOR))}
        for number, (_, offset, data) in enumerate(self.since):
            for start, part in _sectors(offset, data or b""):
                if number < upto[start // _SECTOR]:
                    content[start : start + len(part)] = part
        return bytes(content[:size])


class Disk:
    """A folder's files, what of them is durable, and what is not yet."""

    def __init__(self, folder: Path) -> None:
        """All that is in `folder` is durable."""
        self._files: list[_File] = []
        self._durable = {".": _FOLDER}
        for path, content in contents(folder).items():
            self._durable[path] = _FOLDER if content is None else self._file(content)
        self._names = dict(self._durable)
        self._renamed: list[tuple[tuple[str, int], ...]] = []  # each: what some names stand for from then on
        self._synced: dict[str, int] = {}  # of a folder: how many of these there were

    def apply(self, ops: Iterable[Op], cut: float) -> None:
        """What happens until a time. A sync that is under way then has promised nothing."""
        for op in ops:
            if op.start <= cut:
                self._apply(op, cut)

    def after(self, ops: Iterable[Op]) -> Contents:
        """What is there after all of these, without a power cut."""
        self.apply(ops, math.inf)
        there = {path: node for path, node in self._names.items() if path != "." and node != _GONE}
        return {path: None if node == _FOLDER else self._files[node].now() for path, node in there.items()}

    def survivor(self, rng: Random) -> Contents:
        """What a power cut may leave now."""
        names = self._as_journalled(rng) if rng.random() < _JOURNAL_SHARE else self._any_names(rng)
        left = {number: file.survivor(rng) for number, file in enumerate(self._files)}
        return {
            path: left.get(node)
            for path, node in names.items()
            if path != "."
            and node != _GONE
            and all(names.get(str(up)) == _FOLDER for up in PurePosixPath(path).parents)
        }

    def _apply(self, op: Op, cut: float) -> None:
        there = self._names.get(op.path, _GONE)
        assert there != _GONE or op.kind in ("create", "mkdir", "note"), f"{op.kind} of {op.path}, which is not there"
        match op.kind:
            case "create" if there == _GONE:
                self._rename((op.path, self._file(b"")))
            case "write":
                self._files[there].since.append((op.end, op.offset, op.data))
            case "resize":
                self._files[there].since.append((op.end, op.offset, None))
            case "rename":
                self._rename((op.target, there), (op.path, _GONE))
            case "mkdir":
                self._rename((op.path, _FOLDER))
            case "unlink" | "rmdir":
                self._rename((op.path, _GONE))
            case "sync" if op.end <= cut and there == _FOLDER:
                self._synced[op.path] = len(self._renamed)
            case "sync" if op.end <= cut:
                self._files[there].sync(op.start)

    def _rename(self, *names: tuple[str, int]) -> None:
        self._renamed.append(names)
        self._names.update(names)

    def _file(self, content: bytes) -> int:
        self._files.append(_File(content))
        return len(self._files) - 1

    def _as_journalled(self, rng: Random) -> dict[str, int]:
        names = dict(self._durable)
        for changed in self._renamed[: rng.randint(max(self._synced.values(), default=0), len(self._renamed))]:
            names.update(changed)
        return names

    def _any_names(self, rng: Random) -> dict[str, int]:
        """Each name stands for anything that it stood for since its folder was synced."""
        names = dict(self._durable)
        choices: dict[str, list[int]] = {}
        for number, changed in enumerate(self._renamed):
            for path, node in changed:
                if number < self._synced.get(str(PurePosixPath(path).parent), 0):
                    names[path] = node
                else:
                    choices.setdefault(path, [names.get(path, _GONE)]).append(node)
        return names | {path: rng.choice(nodes) for path, nodes in choices.items()}


def contents(folder: Path) -> Contents:
    """What a folder holds."""
    places = sorted(folder.rglob("*"))
    return {path.relative_to(folder).as_posix(): None if path.is_dir() else path.read_bytes() for path in places}


def write(held: Contents, folder: Path) -> None:
    """Make a folder that holds this."""
    folder.mkdir()
    for path, content in sorted(held.items()):
        if content is None:
            (folder / path).mkdir(mode=0o700)
        else:
            (folder / path).write_bytes(content)


def _applied(content: bytes, changes: Iterable[tuple[float, int, bytes | None]]) -> bytes:
    after = bytearray(content)
    for _, offset, data in changes:
        end = offset + len(data or b"")
        after += bytes(max(end - len(after), 0))
        if data is None:
            del after[offset:]
        else:
            after[offset:end] = data
    return bytes(after)


def _sectors(offset: int, data: bytes) -> Iterable[tuple[int, bytes]]:
    """The parts of a write that lie in one sector each, with their places."""
    start = offset
    while start < offset + len(data):
        end = min((start // _SECTOR + 1) * _SECTOR, offset + len(data))
        yield start, data[start - offset : end - offset]
        start = end
