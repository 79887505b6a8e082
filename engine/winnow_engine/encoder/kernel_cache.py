"""A cache of compiled GPU kernels: a folder with a file for each."""

from __future__ import annotations

from pathlib import Path

from winnow_engine.storage.folders import cache_folder, temporary
from winnow_engine.storage.store import checksum

_DIGEST = len(checksum(b""))


class KernelFolder:
    """One file per kernel, with its hash at the end; none if the folder cannot be written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def get(self, name: str, /) -> bytes | None:
        """A kernel's code, None if it is missing or damaged."""
        try:
            data = (self._folder / name).read_bytes()
        except OSError:
            return None
        return data[:-_DIGEST] if checksum(data[:-_DIGEST]) == data[-_DIGEST:] else None

    def __setitem__(self, name: str, binary: bytes) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with temporary(self._folder) as part:
                part.write_bytes(binary + checksum(binary))
                part.replace(self._folder / name)
        except OSError:
            return  # compiled again next time


def default_folder() -> KernelFolder:
    """`kernels` in the cache folder."""
    return KernelFolder(cache_folder() / "kernels")
