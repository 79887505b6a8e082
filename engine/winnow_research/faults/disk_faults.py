"""Faults of the disk: damaged files, no room, no permission. Each function injects one, and says what came of it."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path
from random import Random

from winnow_research.faults.home import Home, ended, process

NOBODY = 65534


def truncate(home: Home) -> str:
    """Any file of the cache cut off."""
    place = _lost(home)
    cut(place, home.rng)
    return place.suffix


def flip(home: Home) -> str:
    """Any bit of any file of the cache."""
    place = _lost(home)
    flip_bit(place, home.rng)
    return place.suffix


def remove(home: Home) -> str:
    """Any file of the cache deleted."""
    place = _lost(home)
    place.unlink()
    return place.suffix


def disk_full(home: Home) -> str:
    """No file may grow beyond some size."""
    limit = int(2 ** home.rng.uniform(8, 21))

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        home.index()

    return ended(process(work))


def read_only(home: Home) -> str:
    """A cache that another user owns."""

    def work() -> None:
        if os.getuid() == 0:
            os.setuid(NOBODY)
        home.index()

    places = [home.cache, *home.cache.rglob("*")]
    modes = {place: place.stat().st_mode for place in places}
    for place in places:
        place.chmod(0o555 if place.is_dir() else 0o444)
    try:
        return ended(process(work))
    finally:
        for place, mode in modes.items():
            place.chmod(mode)


def cut(path: Path, rng: Random) -> None:
    """Cut a file off somewhere."""
    size = path.stat().st_size
    os.truncate(path, rng.randrange(size) if size else 0)


def flip_bit(path: Path, rng: Random) -> None:
    """Flip any bit of a file."""
    data = bytearray(path.read_bytes() or b"?")
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    path.write_bytes(data)


def _lost(home: Home) -> Path:
    """A file of the cache; what it holds may have to be made again."""
    home.promised = frozenset()
    return home.rng.choice(home.places())
