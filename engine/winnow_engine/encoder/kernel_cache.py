"""A cache of compiled GPU kernels: a folder that behaves as a mapping of names to bytes."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from pathlib import Path

from winnow_engine.storage.folders import cache_folder, temporary
from winnow_engine.storage.store import checksum

_DIGEST = len(checksum(b""))


class KernelFolder(MutableMapping[str, bytes]):
    """One file per kernel, with its hash at the end; none if the folder cannot be written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __getitem__(self, name: str) -> bytes:
        try:
            data = (self._folder / name).read_bytes()
        except OSError as error:
            raise KeyError(name) from error
        if checksum(data[:-_DIGEST]) != data[-_DIGEST:]:
            raise KeyError(name)
        return data[:-_DIGEST]

    def __setitem__(self, name: str, binary: bytes) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with temporary(self._folder) as part:
                part.write_bytes(binary + checksum(binary))
                part.replace(self._folder / name)
        except OSError:
            return  # compiled again next time

    def __delitem__(self, name: str) -> None:
        try:
            (self._folder / name).unlink()
        except FileNotFoundError as error:
            raise KeyError(name) from error

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(path.name for path in self._folder.glob("*-*")))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def default_folder() -> KernelFolder:
    """`kernels` in the cache folder."""
    return KernelFolder(cache_folder() / "kernels")
