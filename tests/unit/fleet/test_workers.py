"""Several drafters, in processes and on Ray, make the keys that one makes, also if one of them is killed.

The drafter is a random model of a few thousand weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import psutil
import pytest

from winnow_engine.core import Cancellation
from winnow_engine.drafter.drafter import Drafter
from winnow_engine.drafter.encoding import FileKeys, FileText
from winnow_engine.errors import ClusterError, UnsupportedModelError
from winnow_engine.fleet import fleet
from winnow_engine.fleet.fleet import Fleet
from winnow_engine.fleet.on_ray import RayFleet
from winnow_engine.fleet.processes import ProcessWorker, open_processes
from winnow_engine.fleet.worker import encode
from winnow_engine.runtime import Stages

from ..targets.conftest import byte_tokens

WIDTH = 128
HERE = Path(__file__).parent
FILES = [
    FileText(path.name, tuple(path.read_text()[:1200].split("\n\n"))) for path in sorted(HERE.glob("test_*.py"))[:12]
]


def write_model(path: Path) -> Path:
    """Four layers of random weights; 512 tokens, half of which no text has."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(4096)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(4)
    writer.add_head_count(WIDTH // 64)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_rope_dimension_count(64)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(byte_tokens() + [f"<{number}>" for number in range(256)])
    writer.add_token_types([gguf.TokenType.NORMAL] * 512)
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(511)
    square, wide = (WIDTH, WIDTH), (2 * WIDTH, WIDTH)
    layer = dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), square)
    layer |= {"ffn_gate": wide, "ffn_up": wide, "ffn_down": wide[::-1]}
    random = np.random.default_rng(7)
    for number in range(4):
        for name, shape in layer.items():
            writer.add_tensor(f"blk.{number}.{name}.weight", random.normal(0, 0.1, shape).astype(np.float32))
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{number}.{name}.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("token_embd.weight", random.normal(0, 1, (512, WIDTH)).astype(np.float32))
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture(scope="module")
def drafter(model: Path) -> Drafter:
    return Drafter(model)


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


@pytest.mark.parametrize("count", [1, 2])
def test_processes_make_the_keys_of_one_drafter(
    model: Path, drafter: Drafter, expected: list[FileKeys], count: int
) -> None:
    with closing(open_processes(model, drafter, count)) as made:
        same(list(encoded(made)), expected)
        assert not made.notices
        there = processes("winnow_engine.fleet.worker")
        assert len(there) == count
    assert not [one for one in there if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def test_a_killed_process_is_replaced(model: Path, drafter: Drafter, expected: list[FileKeys]) -> None:
    with closing(open_processes(model, drafter, 2)) as made:
        same(list(encoded(made)), expected)

        def killing() -> Iterator[FileText]:
            yield from FILES
            for process in processes("winnow_engine.fleet.worker"):
                process.kill()
            yield from FILES * 2

        same(list(made.encode(killing(), Cancellation(), Stages())), expected * 3)
        assert any("was lost" in notice for notice in made.notices)


def test_another_drafter_is_refused(model: Path, drafter: Drafter) -> None:
    def open_worker(_: int) -> ProcessWorker:
        return ProcessWorker(model, "another", 1, None)

    made = Fleet(1, open_worker, lambda texts: encode(drafter, texts), "cpu")
    with closing(made), pytest.raises(UnsupportedModelError, match="another drafter"):
        list(encoded(made))


@needs_ray
def test_two_ray_workers_make_the_keys_of_one_drafter_also_if_one_is_killed(
    model: Path, drafter: Drafter, expected: list[FileKeys]
) -> None:
    with ThreadPoolExecutor(1) as ends:  # as models load: on a thread that is gone afterwards
        opened = ends.submit(RayFleet, str(model), drafter, 2, None).result()
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


@needs_ray
def test_a_cluster_that_is_not_there_is_told(drafter: Drafter, model: Path) -> None:
    with pytest.raises(ClusterError, match=r"127\.0\.0\.1:9 cannot be reached"):
        RayFleet(str(model), drafter, 1, "127.0.0.1:9")


def test_without_ray_its_extra_is_named(drafter: Drafter, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setattr("winnow_engine.fleet.on_ray.importlib.import_module", missing)
    with pytest.raises(ClusterError, match=r"winnow-lsp\[ray\]"):
        RayFleet(str(model), drafter, 1, None)
