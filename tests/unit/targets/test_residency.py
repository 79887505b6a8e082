"""Where models live, decided from numbers alone, and the size of a model's keys and values."""

import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import gguf
import llama_cpp
import numpy as np
import pytest
from random_models import write_all

from winnow_engine.config import ModelConfig, Place, TargetOptions
from winnow_engine.errors import ModelNotFoundError
from winnow_engine.llama.devices import LlamaGpu, best_gpu
from winnow_engine.models.gguf_header import GgufHeader
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET
from winnow_engine.targets import opening, residency
from winnow_engine.targets.residency import MemoryNeeds, decide, kv_bytes, leaves_room_for_reranker, measure

GB = 10**9


def memory(free: float | None, offload: bool = True) -> MemoryNeeds:
    """Drafter 0.5 GB and 1 GB of work, target 6 GB."""
    return MemoryNeeds(None if free is None else int(free * GB), "no GPU", GB // 2, GB, 6 * GB, offload)


@pytest.mark.parametrize(
    ("free", "offload", "drafter", "target"),
    [
        (None, True, "cpu", "cpu"),
        (80, True, "resident", "resident"),
        (8.1, True, "resident", "resident"),
        (8.0, True, "resident", "on-demand"),
        (7.1, True, "resident", "on-demand"),
        (7.0, True, "resident", "cpu"),
        (1.1, True, "resident", "cpu"),
        (1.0, True, "cpu", "cpu"),
        (0, True, "cpu", "cpu"),
        (80, False, "resident", "cpu"),
        (0, False, "cpu", "cpu"),
    ],
)
def test_the_fastest_arrangement_that_fits(free: float | None, offload: bool, drafter: str, target: str) -> None:
    found = decide(memory(free, offload))
    assert (found.drafter, found.target) == (drafter, target)
    assert found.reason == "no GPU" if free is None else f"{free:.1f} GB free" in found.reason


@pytest.mark.parametrize(
    ("free", "offload", "target", "room"),
    [
        (None, True, "cpu", False),
        (12.1, True, "resident", False),
        (12.2, True, "resident", True),
        (12.1, True, "on-demand", False),  # it gives its memory back, and needs it again
        (12.2, True, "on-demand", True),
        (6.2, True, "cpu", True),
        (6.1, True, "cpu", False),
        (6.2, False, "resident", True),
    ],
)
def test_a_reranker_is_used_where_all_else_fits_beside_it(
    free: float | None, offload: bool, target: Place, room: bool
) -> None:
    assert leaves_room_for_reranker(memory(free, offload), target) is room


@pytest.mark.parametrize(
    ("models", "answers", "free", "room"),
    [
        (ModelConfig(), False, 7, True),
        (ModelConfig(), True, 7, False),
        (ModelConfig(), True, 9, True),
        (ModelConfig(target_place="cpu"), True, 7, True),
        (ModelConfig(target="http://127.0.0.1:8000"), True, 7, True),
        (ModelConfig(target="/not/there.gguf"), True, 7, True),
    ],
)
def test_room_for_a_reranker_depends_on_what_answers(
    models: ModelConfig, answers: bool, free: float, room: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (DEFAULT_DRAFTER, DEFAULT_TARGET):
        (tmp_path / f"{name}.gguf").write_bytes(bytes(100))
    header = GgufHeader("qwen2", "", 28, 0, {}, {})
    monkeypatch.setattr(residency, "read_header", lambda path: header)
    monkeypatch.setattr(residency, "gpu_bytes", lambda: (int(free * GB), "a GPU"))
    monkeypatch.setattr(residency, "memory_bytes", lambda header, options: 2 * GB)
    monkeypatch.setattr(llama_cpp, "llama_supports_gpu_offload", lambda: True)
    monkeypatch.setattr(opening, "locate", lambda name: _located(tmp_path / f"{name}.gguf"))
    assert opening.room_for_reranker(models, answers=answers) is room


def _located(path: Path) -> Path:
    if not path.is_file():
        raise ModelNotFoundError(str(path))
    return path


@pytest.mark.parametrize(("free", "place"), [(7, "resident"), (6.5, "cpu")])
def test_a_gpu_that_only_llama_cpp_knows_is_the_targets(free: float, place: str) -> None:
    found = decide(replace(memory(None), other=LlamaGpu("Apple M2", int(free * GB))))
    assert (found.drafter, found.target) == ("cpu", place)
    assert found.reason.startswith(f"Apple M2 has {free:.1f} GB free, ")


def test_the_gpu_that_is_shown_is_one_that_somebody_can_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(residency, "gpu_bytes", lambda: (None, "no CUDA"))
    monkeypatch.setattr(residency, "best_gpu", lambda: None)
    assert residency.any_gpu_bytes() == (None, "no CUDA")
    monkeypatch.setattr(residency, "best_gpu", lambda: LlamaGpu("Apple M2", 7))
    assert residency.any_gpu_bytes() == (7, "Apple M2, for the target alone")


def test_a_target_that_fits_where_the_drafter_does_not_is_resident() -> None:
    found = decide(MemoryNeeds(2 * GB, "", 3 * GB, GB, GB, True))
    assert (found.drafter, found.target) == ("cpu", "resident")


@pytest.mark.parametrize(("kv_type", "size"), [("f16", 4096), ("q8_0", 2176), ("q4_0", 1152)])
def test_keys_and_values_take_what_their_type_says(kv_type: str, size: int) -> None:
    values = {"qwen2.attention.head_count": 4, "qwen2.attention.head_count_kv": 2, "qwen2.embedding_length": 64}
    header = GgufHeader("qwen2", "", 2, 0, values, {})
    assert kv_bytes(header, kv_type, tokens=16) == size
    assert kv_bytes(GgufHeader("mamba", "", 2, 0, {}, {}), kv_type) == 0


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    drafter = tmp_path / "d.gguf"
    drafter.write_bytes(b"")
    with pytest.raises(ModelNotFoundError):
        measure(drafter, drafter.with_name("t.gguf"), TargetOptions())


@pytest.fixture
def smallest(tmp_path: Path) -> Path:
    """A GGUF file with nothing but a header."""
    path = tmp_path / "smallest.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(1)
    writer.add_context_length(16)
    writer.add_head_count(2)
    writer.add_embedding_length(8)
    writer.add_tensor("a", np.zeros((4, 4), np.float32))
    write_all(writer)
    return path


class Device:
    """A device that answers only on a thread that has made it current, as CUDA does."""

    lock = threading.RLock()
    active = False

    def activate(self) -> None:
        self.active = True

    def free_memory(self) -> int:
        assert self.active
        return 5 * GB


def test_the_memory_is_that_of_the_device_made_current(monkeypatch: pytest.MonkeyPatch, smallest: Path) -> None:
    monkeypatch.setattr(residency, "availability", lambda: SimpleNamespace(usable=True, reason="a GPU"))
    monkeypatch.setattr(residency, "open_device", Device)
    found = measure(smallest, smallest, TargetOptions())
    assert (found.free, found.why) == (5 * GB, "a GPU")
    assert found.target > found.drafter == smallest.stat().st_size


def test_a_build_for_the_processor_alone_has_no_gpu() -> None:
    if llama_cpp.llama_supports_gpu_offload():
        pytest.skip("this build of llama.cpp has a GPU")
    assert best_gpu() is None
