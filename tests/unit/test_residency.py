"""The policy from numbers alone, and the numbers of a model's keys and values."""

from pathlib import Path

import pytest

from winnow_engine.errors import ModelNotFoundError
from winnow_engine.models.gguf_header import GgufHeader
from winnow_engine.residency import Memory, decide, kv_bytes, measure

GB = 10**9


def memory(free: float | None, offload: bool = True) -> Memory:
    """Drafter 0.5 GB and 1 GB of work, target 6 GB."""
    return Memory(None if free is None else int(free * GB), "no GPU", GB // 2, GB, 6 * GB, offload)


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


def test_a_target_that_fits_where_the_drafter_does_not_is_resident() -> None:
    found = decide(Memory(2 * GB, "", 3 * GB, GB, GB, True))
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
        measure(drafter, drafter.with_name("t.gguf"), "f16")
