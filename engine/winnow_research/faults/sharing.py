"""Faults of an index that a team shares: half copied, tampered with, or written while the power fails.

A reader with an empty cache must find the same in it as in one made from nothing, or be told what is wrong with the
shared index and encode the files itself. Publishing again must mend it.
"""

from __future__ import annotations

import json
from pathlib import Path

from winnow_engine.sharing.shards import CONTENTS
from winnow_research.faults.disk_faults import cut, flip_bit
from winnow_research.faults.home import Home, ended, process
from winnow_research.faults.power import cut_off
from winnow_research.faults.recorded import publish_index


def shared_damage(home: Home) -> str:
    """A shared index copied in part, with an old file among the new, or with other bytes."""
    out = _published(home)
    before = {path: path.read_bytes() for path in _files(out)}
    home.edit()
    _publish(home, out)
    path = home.rng.choice(_files(out))
    how = home.rng.choice((_cut, _flip, _remove, _swap, _old))
    how(home, path, before)
    said = _read(home, out, _names(home))
    return f"{how.__name__.strip('_')}: {'told' if said else 'harmless'}"


def power_cut_publishing(home: Home) -> str:
    """The power fails while an index is published where an older one is."""
    out, had = _published(home), _names(home)
    home.edit()
    home.index()
    cut_off(home, out, str(out))
    return "told" if _read(home, out, had) else "readable"


def _cut(home: Home, path: Path, _before: dict[Path, bytes]) -> None:
    cut(path, home.rng)


def _flip(home: Home, path: Path, _before: dict[Path, bytes]) -> None:
    flip_bit(path, home.rng)


def _remove(_home: Home, path: Path, _before: dict[Path, bytes]) -> None:
    path.unlink()


def _swap(home: Home, path: Path, _before: dict[Path, bytes]) -> None:
    """Bytes of one place at another: every part is genuine."""
    data, size = path.read_bytes(), home.rng.randint(1, 200)
    first, second = (home.rng.randrange(max(len(data) - size, 1)) for _ in range(2))
    path.write_bytes(data[:second] + data[first : first + size] + data[second + size :])


def _old(home: Home, path: Path, before: dict[Path, bytes]) -> None:
    """The list of contents as it was, whose shard is gone; it may be all that was copied."""
    old = before[path.with_name(CONTENTS)]
    path.with_name(CONTENTS).write_bytes(old)


def _published(home: Home) -> Path:
    out = home.place / "shared"
    _publish(home, out)
    return out


def _publish(home: Home, out: Path) -> None:
    how = ended(process(lambda: publish_index(home, out)))
    if how == "refused":  # the list of contents is damaged, and may have named other repositories
        (out / CONTENTS).unlink()
        how = ended(process(lambda: publish_index(home, out)))
    assert how == "fine", f"publishing is {how}"


def _files(out: Path) -> list[Path]:
    return sorted(path for path in out.iterdir() if path.suffix != ".lock")


def _names(home: Home) -> set[str]:
    """The names of all keys of the workspace."""
    return set(home.found_in(home.cache)["names"].values())


def _read(home: Home, out: Path, had: set[str]) -> list[str]:
    """What a reader is told. AssertionError if it finds what is wrong, or if publishing again does not mend it.

    Unless it is told something, it finds all the keys that the index `had`.
    """
    anew = home.found_in(home.new_folder())
    found = home.found_in(home.new_folder(), out)
    assert found["digest"] == anew["digest"], "a shared index gives other keys"
    lacking = had & {found["names"][path] for path in found["encoded"]}
    assert found["problems"] or not lacking, f"a shared index lacks {len(lacking)} files, and nobody is told"
    _publish(home, out)
    mended = home.found_in(home.new_folder(), out)
    assert mended["digest"] == anew["digest"]
    assert not mended["problems"], f"publishing again does not mend it: {mended['problems']}"
    assert not mended["encoded"], json.dumps(mended["encoded"])
    problems: list[str] = found["problems"]
    return problems
