"""Power cuts: the writes of a process are recorded, and its folder becomes what they may have left at some moment."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from winnow_engine.storage.mapped import _note, _stamp
from winnow_research.faults.disks import Disk, contents, write
from winnow_research.faults.home import Home
from winnow_research.faults.recording import Op, record


def power_cut(home: Home) -> str:
    """The power fails at any moment of indexing, and takes with it what was not synced."""
    ops, cut = cut_off(home, home.cache)
    home.promised |= set(_stored(ops, cut))
    return "during a sync" if any(op.kind == "sync" and op.start <= cut < op.end for op in ops) else "in between"


def cut_off(home: Home, folder: Path, *arguments: str) -> tuple[Sequence[Op], float]:
    """Record what `faults.recorded` does; leave in `folder` what there may be after some moment. Both."""
    notes, disk, whole = home.new_folder(), Disk(folder), Disk(folder)
    command = [sys.executable, "-m", "winnow_research.faults.recorded", str(home.place), str(notes), *arguments]
    ops = record(command, folder, notes, home.new_folder())
    assert whole.after(ops) == contents(folder), "what was recorded is not what was done"
    last = home.rng.choice(ops)
    cut = home.rng.uniform(last.start, last.end)
    disk.apply(ops, cut)
    stamps = {path: _stamp(path.stat()) for path in folder.rglob("*")}
    shutil.rmtree(folder)
    write(disk.survivor(home.rng), folder)
    _renew(stamps)
    return ops, cut


def _renew(stamps: dict[Path, str]) -> None:
    """Have the notes on verified files believed that would be: a copy has another inode, and other times."""
    for path, stamp in stamps.items():
        note = _note(path)
        if path.exists() and note.exists() and note.read_bytes() == stamp.encode():
            note.write_text(_stamp(path.stat()))


def _stored(ops: Sequence[Op], cut: float) -> Iterator[str]:
    """The names of the keys that must be there. SQLite may take its last transaction back, with the records in it."""
    notes = [json.loads(op.data) for op in ops if op.kind == "note" and op.end <= cut]
    for number, (how, names) in enumerate(notes):
        if how == "pack" or number < len(notes) - 1:
            yield from names
