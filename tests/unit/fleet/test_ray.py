"""Workers of a real Ray cluster make the keys that one drafter makes, byte for byte, also if one of them is killed.

The drafter is a random model of a few thousand weights. Importing Ray here would keep a cluster from its secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from random_models import write_model

from winnow_engine.core import Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.file_encoder import FileKeys, FileText
from winnow_engine.errors import ClusterError
from winnow_engine.fleet import fleet
from winnow_engine.fleet.fleet import Fleet, encode

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
CHUNK = 2000  # characters, so that a few files are several chunks
SOURCES = sorted((Path(__file__).parents[2] / "real").glob("test_*.py"))[:6]
FILES = [FileText(path.name, tuple(path.read_text()[:1200].split("\n\n"))) for path in SOURCES]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny.gguf")


def actors() -> list[psutil.Process]:
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "ray::DrafterActor" in " ".join(process.cmdline()):
                found.append(process)
    return found


def same(found: Sequence[FileKeys], expected: Sequence[FileKeys]) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one.unit_tokens, other.unit_tokens)
        assert {name: array.tobytes() for name, array in one.arrays.items()} == {
            name: array.tobytes() for name, array in other.arrays.items()
        }


@needs_ray
def test_two_workers_make_the_keys_of_one_drafter_also_if_one_is_killed(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(fleet.CHUNK_CHARACTERS, "cpu", CHUNK)
    drafter = Drafter(model)
    expected = [keys for texts in fleet.chunks(FILES, CHUNK) for keys in encode(drafter, texts)]
    with ThreadPoolExecutor(1) as ends:  # as models load: on a thread that is gone afterwards
        opened = ends.submit(Fleet, str(model), drafter, 2, None).result()
    with closing(opened) as made:
        same(list(made.encode(FILES, Cancellation())), expected)
        there = actors()
        assert len(there) == 2
        files = made.encode(FILES * 3, Cancellation())
        first = next(files)
        there[0].kill()
        same([first, *files], expected * 3)
        assert not made.notices
        gone, _ = psutil.wait_procs(there[:1], timeout=120)
        assert gone
    psutil.wait_procs(actors(), timeout=120)
    assert not actors()


def test_without_ray_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr(fleet.importlib, "import_module", missing)
    with pytest.raises(ClusterError, match=r"winnow-lsp\[ray\]"):
        fleet.joined(None)
