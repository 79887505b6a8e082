"""Places of a shared index: a folder, or an HTTP server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from winnow_engine.errors import SharedIndexError
from winnow_engine.platform import expanded


class IndexFiles(Protocol):
    """Files of one index. Both methods raise SharedIndexError."""

    def whole(self, name: str, most_bytes: int) -> bytes:
        """A file's bytes. One longer than `most_bytes` is refused."""

    def part(self, name: str, start: int, stop: int, file_bytes: int) -> bytes:
        """The bytes start:stop of a file of `file_bytes`."""


def is_remote(location: str) -> bool:
    """True for a server's URL; any other location is a folder."""
    return location.startswith(("http://", "https://"))


def files_at(location: str) -> IndexFiles:
    """Files at a location."""
    if not is_remote(location):
        return FolderFiles(Path(location))
    from winnow_engine.sharing.http import HttpFiles  # httpx takes 0.1 s to import

    return HttpFiles(location)


class FolderFiles:
    """A folder. It may lie on a share that comes and goes."""

    def __init__(self, folder: Path) -> None:
        self._folder = expanded(str(folder))

    def whole(self, name: str, most_bytes: int) -> bytes:
        """See `IndexFiles`."""
        return self._read(name, 0, most_bytes + 1, most_bytes)

    def part(self, name: str, start: int, stop: int, file_bytes: int) -> bytes:
        """See `IndexFiles`."""
        return self._read(name, start, stop - start, file_bytes)

    def _read(self, name: str, start: int, size: int, most_bytes: int) -> bytes:
        try:
            with (self._folder / name).open("rb") as file:
                file.seek(start)
                data = file.read(min(size, os.fstat(file.fileno()).st_size))  # whose memory is taken beforehand
        except OSError as error:
            raise SharedIndexError(f"{name} cannot be read: {error.strerror or error}") from error
        if len(data) > most_bytes:
            raise SharedIndexError(f"{name} has more than {most_bytes:,} bytes")
        return data


def runs(places: Sequence[tuple[int, int]], gap: int, most: int) -> list[list[int]]:
    """Groups of sorted byte ranges, by index, to read at once: less than `gap` apart, at most `most` bytes."""
    found: list[list[int]] = []
    for number, (start, stop) in enumerate(places):
        if found and start - places[found[-1][-1]][1] <= gap and stop - places[found[-1][0]][0] <= most:
            found[-1].append(number)
        else:
            found.append([number])
    return found
