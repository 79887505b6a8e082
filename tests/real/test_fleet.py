"""Several drafters, in processes and on Ray, make the keys that one makes, also if one of them is killed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import psutil
import pytest

from winnow_engine.core import Cancellation
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.drafter.encoding import FileKeys, FileText
from winnow_engine.fleet import fleet
from winnow_engine.fleet.fleet import Fleet
from winnow_engine.fleet.on_ray import RayFleet
from winnow_engine.fleet.processes import open_processes
from winnow_engine.fleet.worker import encode
from winnow_engine.runtime import Stages

pytestmark = pytest.mark.real_weights

HERE = Path(__file__).parent
FILES = [
    FileText(path.name, tuple(path.read_text()[:1200].split("\n\n"))) for path in sorted(HERE.glob("test_*.py"))[:12]
]


@pytest.fixture(scope="module")
def drafter(smollm2: Path) -> Drafter:
    return Drafter(smollm2)


@pytest.fixture(scope="module")
def expected(drafter: Drafter) -> list[FileKeys]:
    """The keys that one drafter makes, chunk by chunk."""
    dealt = fleet.chunks(FILES, 2000)
    return [keys for texts in dealt for keys in encode(drafter, texts)]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fleet.CHUNK_CHARACTERS, "cpu", 2000)
    monkeypatch.setitem(fleet.CHUNK_CHARACTERS, "resident", 2000)


# Importing it would keep a cluster from getting its secret.
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")


def encoded(made: Fleet) -> Iterator[FileKeys]:
    return made.encode(FILES, Cancellation(), Stages())


def same(found: list[FileKeys], expected: list[FileKeys]) -> None:
    """The same keys, but for a few codes: on the CPU two processes do not always round alike."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.unit_tokens, other.unit_tokens)
        assert one.arrays.keys() == other.arrays.keys()
        for name, array in one.arrays.items():
            assert np.mean(array != other.arrays[name]) < 0.01, name


def processes(part: str) -> list[psutil.Process]:
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if part in " ".join(process.cmdline()):
                found.append(process)
    return found


@pytest.mark.parametrize("count", [1, 2])
def test_processes_make_the_keys_of_one_drafter(
    smollm2: Path, drafter: Drafter, expected: list[FileKeys], count: int
) -> None:
    with closing(open_processes(smollm2, drafter, count)) as made:
        same(list(encoded(made)), expected)
        assert not made.notices
        there = processes("winnow_engine.fleet.worker")
        assert len(there) == count
    assert not [one for one in there if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def test_a_killed_process_is_replaced(smollm2: Path, drafter: Drafter, expected: list[FileKeys]) -> None:
    with closing(open_processes(smollm2, drafter, 2)) as made:
        files = made.encode(FILES * 3, Cancellation(), Stages())
        first = next(files)
        while len(victims := processes("winnow_engine.fleet.worker")) < 2:
            time.sleep(0.1)
        for process in victims:
            process.kill()
        same([first, *files], expected * 3)
        assert any("was lost" in notice for notice in made.notices)


@needs_ray
def test_two_ray_workers_make_the_keys_of_one_drafter_also_if_one_is_killed(
    smollm2: Path, drafter: Drafter, expected: list[FileKeys]
) -> None:
    with ThreadPoolExecutor(1) as ends:  # as models load: on a thread that is gone afterwards
        opened = ends.submit(RayFleet, str(smollm2), drafter, 2, None).result()
    with closing(opened) as made:
        same(list(encoded(made)), expected)
        assert not made.notices
        actors = processes("ray::RayDrafter")
        assert len(actors) == 2
        files = made.encode(FILES * 3, Cancellation(), Stages())
        first = next(files)
        actors[0].kill()
        same([first, *files], expected * 3)
        gone, _ = psutil.wait_procs(actors[:1], timeout=30)
        assert gone
    assert not processes("ray::RayDrafter")
