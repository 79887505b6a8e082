"""Where models live, decided from numbers alone, and the size of a model's keys and values."""

from dataclasses import replace
from pathlib import Path

import llama_cpp
import pytest

from winnow_engine.config import Place, TargetOptions
from winnow_engine.errors import ModelNotFoundError
from winnow_engine.llama.devices import LlamaGpu, best_gpu
from winnow_engine.models.gguf_header import GgufHeader
from winnow_engine.targets.residency import MemoryNeeds, decide, kv_bytes, leaves_room_for_reranker, measure

GB = 10**9


def memory(free: float | None, offload: bool = True) -> MemoryNeeds:
    """Drafter 0.5 GB and 1 GB of work, target 6 GB."""
    return MemoryNeeds(None if free is None else int(free * GB), "no GPU", GB // 2, GB, 6 * GB, offload)


@pytest.mark.parametrize(
    ("free", "offload", "drafter", "target"),
    [
        (None, True, "cpu", "cpu"),
        (8.1, True, "resident", "resident"),
        (8.0, True, "resident", "cpu"),
        (1.1, True, "resident", "cpu"),
        (1.0, True, "cpu", "cpu"),
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
        (6.2, True, "cpu", True),
        (6.1, True, "cpu", False),
        (6.2, False, "resident", True),
    ],
)
def test_a_reranker_is_used_where_all_else_fits_beside_it(
    free: float | None, offload: bool, target: Place, room: bool
) -> None:
    assert leaves_room_for_reranker(memory(free, offload), target) is room


@pytest.mark.parametrize(("free", "place"), [(7, "resident"), (6.5, "cpu")])
def test_a_gpu_that_only_llama_cpp_knows_is_the_targets(free: float, place: str) -> None:
    found = decide(replace(memory(None), other=LlamaGpu("Apple M2", int(free * GB))))
    assert (found.drafter, found.target) == ("cpu", place)
    assert found.reason.startswith(f"Apple M2 has {free:.1f} GB free, ")


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


def test_a_build_for_the_processor_alone_has_no_gpu() -> None:
    if llama_cpp.llama_supports_gpu_offload():
        pytest.skip("this build of llama.cpp has a GPU")
    assert best_gpu() is None
