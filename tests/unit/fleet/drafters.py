"""What one drafter makes of some files, and that several make the same of them, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import psutil
import pytest

from winnow_engine.core import Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.file_encoder import FileKeys, FileText
from winnow_engine.fleet import fleet
from winnow_engine.fleet.fleet import Fleet
from winnow_engine.fleet.on_ray import RayFleet
from winnow_engine.fleet.processes import open_processes
from winnow_engine.fleet.worker import encode

_CHUNK = 2000  # characters, so that a few files are several chunks
_SOURCES = sorted((Path(__file__).parents[2] / "real").glob("test_*.py"))
FILES = [FileText(path.name, tuple(path.read_text()[:1200].split("\n\n"))) for path in _SOURCES[:6]]

# Importing it would keep a cluster from getting its secret.
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")


@dataclass(frozen=True)
class OneDrafter:
    """A drafter, its file, and the keys that it makes of `FILES`, chunk by chunk."""

    model: Path

    @cached_property
    def drafter(self) -> Drafter:
        return Drafter(self.model)

    @cached_property
    def keys(self) -> list[FileKeys]:
        return [keys for texts in fleet.chunks(FILES, _CHUNK) for keys in encode(self.drafter, texts)]

    def check_processes(self, count: int) -> None:
        """Processes make the same keys, and end when they are closed."""
        with closing(open_processes(self.model, self.drafter, count)) as made:
            same(list(encoded(made)), self.keys)
            assert not made.notices
            there = processes("winnow_engine.fleet.worker")
            assert len(there) == count
        assert not [one for one in there if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]

    def check_killed_processes(self) -> None:
        """So do those that take the place of two that were killed."""

        def killing() -> Iterator[FileText]:
            yield from FILES
            for process in processes("winnow_engine.fleet.worker"):
                process.kill()
            yield from FILES * 2

        with closing(open_processes(self.model, self.drafter, 2)) as made:
            same(list(encoded(made)), self.keys)
            same(list(made.encode(killing(), Cancellation())), self.keys * 3)
            assert any("was lost" in notice for notice in made.notices)

    def check_ray(self) -> None:
        """So do two actors of a Ray cluster, also after one of them was killed."""
        with ThreadPoolExecutor(1) as ends:  # as models load: on a thread that is gone afterwards
            opened = ends.submit(RayFleet, str(self.model), self.drafter, 2, None).result()
        with closing(opened) as made:
            same(list(encoded(made)), self.keys)
            assert not made.notices
            actors = processes("ray::RayDrafter")
            assert len(actors) == 2
            files = made.encode(FILES * 3, Cancellation())
            first = next(files)
            actors[0].kill()
            same([first, *files], self.keys * 3)
            gone, _ = psutil.wait_procs(actors[:1], timeout=30)
            assert gone
        assert not processes("ray::RayDrafter")


def deal_small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a fleet deal `FILES` in chunks as `OneDrafter` does."""
    for place in fleet.CHUNK_CHARACTERS:
        monkeypatch.setitem(fleet.CHUNK_CHARACTERS, place, _CHUNK)


def encoded(made: Fleet) -> Iterator[FileKeys]:
    return made.encode(FILES, Cancellation())


def same(found: Sequence[FileKeys], expected: Sequence[FileKeys]) -> None:
    """Whether keys are the same, byte for byte."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.unit_tokens, other.unit_tokens)
        assert {name: array.tobytes() for name, array in one.arrays.items()} == {
            name: array.tobytes() for name, array in other.arrays.items()
        }


def processes(part: str) -> list[psutil.Process]:
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if part in " ".join(process.cmdline()):
                found.append(process)
    return found
