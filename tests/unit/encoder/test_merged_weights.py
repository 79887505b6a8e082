"""Merged weights come back from disk as they were written, or count as missing."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from winnow_cuda.ops.int8_products import MATRICES, packed_layer
from winnow_cuda.shapes import Float32, LayerWeights, PackedMatrix
from winnow_engine.encoder import merged_weights as merged
from winnow_engine.encoder.merged_weights import MergedWeights, name_of, used_bytes
from winnow_engine.encoder.weights import Layers

WIDTH = 48


def layers(seed: int = 0, count: int = 2) -> Layers:
    """Layers with odd sizes, without biases in the second, and without QK-norms. The widest matrix is 1.3 MB.

    The first is packed.
    """
    rng = np.random.default_rng(seed)

    def random(*shape: int) -> Float32:
        return rng.standard_normal(shape).astype(np.float32)

    plain = [
        LayerWeights(
            attn_norm=random(WIDTH),
            qkv=random(7, WIDTH),
            qkv_bias=random(7) if index != 1 else None,
            q_norm=None,
            k_norm=None,
            attn_output=random(WIDTH, 5),
            ffn_norm=random(WIDTH),
            gate_up=random(7002, WIDTH),
            ffn_down=random(WIDTH, 33),
        )
        for index in range(count)
    ]
    return (packed_layer(plain[0]), *plain[1:])


def layer(number: int) -> LayerWeights:
    return layers()[number]


def forbidden(number: int) -> LayerWeights:
    raise AssertionError("the layers were computed, not mapped")


def tensors_of(layers: Layers) -> dict[str, np.ndarray]:
    return {name: tensor for number, layer in enumerate(layers) for name, tensor in merged._tensors(str(number), layer)}


def assert_same(found: Layers, expected: Layers) -> None:
    assert len(found) == len(expected)
    for name in MATRICES:
        kinds = [[isinstance(getattr(one, name), PackedMatrix) for one in layers] for layers in (found, expected)]
        assert kinds[0] == kinds[1]
    mine, given = tensors_of(found), tensors_of(expected)
    assert mine.keys() == given.keys()
    for name, tensor in mine.items():
        np.testing.assert_array_equal(tensor, given[name], strict=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "weights"


@pytest.fixture
def file(folder: Path) -> Path:
    """What was written of the first of `layers()`, under the name "one"."""
    MergedWeights(folder, "one")(2, layer)
    assert sorted(folder.glob("*/*")) == [folder / "one" / "0.layer", folder / "one" / "1.layer"]
    return folder / "one" / "0.layer"


def test_what_was_computed_once_is_mapped_from_then_on(folder: Path) -> None:
    first = MergedWeights(folder, "one")(2, layer)
    again = MergedWeights(folder, "one")(2, forbidden)
    for found in (first, again):
        assert_same(found, layers())
        for matrix in (found[0].qkv.codes, found[1].qkv):
            assert not matrix.flags.writeable
            assert not matrix.flags.owndata
        assert found[0].attn_norm.flags.writeable  # Numba compiles for these


def test_only_the_user_may_read_it(file: Path) -> None:
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_another_drafter_or_adapter_is_not_taken_for_it(folder: Path, file: Path) -> None:
    assert_same(MergedWeights(folder, "two")(2, lambda number: layers(1)[number]), layers(1))
    assert_same(MergedWeights(folder, "one")(2, forbidden), layers())
    assert name_of("drafter and adapter", "packed") != name_of("drafter and another adapter", "packed")
    assert name_of("drafter", "packed") != name_of("drafter", "float32")


def test_other_libraries_round_otherwise_and_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    before = name_of("drafter", "packed")
    blas = {"user_api": "blas", "internal_api": "openblas", "architecture": "of another processor"}
    monkeypatch.setattr(merged, "threadpool_info", lambda: [blas])
    assert name_of("drafter", "packed") != before


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "cut in half": lambda data: data[: len(data) // 2],
    "cut in the header": lambda data: data[:60],
    "emptied": lambda _: b"",
    "of another kind": lambda data: b"GGUF" + data[4:],
    "with a changed header": lambda data: data[:100] + bytes([data[100] ^ 1]) + data[101:],
    "with a huge header": lambda data: data[:8] + b"\xff" * 8 + data[16:],
    "with zeros for its second half": lambda data: data[: len(data) // 2] + bytes(len(data) - len(data) // 2),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_counts_as_missing_and_is_written_again(folder: Path, file: Path, damage: str) -> None:
    whole = file.read_bytes()
    file.write_bytes(DAMAGE[damage](whole))
    assert_same(MergedWeights(folder, "one")(2, layer), layers())
    assert file.read_bytes() == whole


def test_the_three_used_last_are_kept(folder: Path) -> None:
    for name in ("one", "two", "three"):
        MergedWeights(folder, name)(2, layer)
    for age, name in enumerate(("one", "two", "three")):
        os.utime(folder / name, (time.time() - 99 - age,) * 2)
    MergedWeights(folder, "three")(2, forbidden)
    MergedWeights(folder, "four")(2, layer)
    assert {path.name for path in folder.iterdir()} == {"one", "three", "four"}
    number, size = used_bytes(folder)
    assert (number, size) == (3, sum(path.stat().st_size for path in folder.glob("*/*")))


def test_what_a_killed_process_left_behind_is_deleted_in_time(folder: Path) -> None:
    (folder / "one").mkdir(parents=True)
    for name, age in ((".winnow-old.tmp", 7200), (".winnow-young.tmp", 60)):
        (folder / "one" / name).write_bytes(b"half")
        os.utime(folder / "one" / name, (time.time() - age,) * 2)
    MergedWeights(folder, "one")(2, layer)
    assert {path.name for path in (folder / "one").iterdir()} == {"0.layer", "1.layer", ".winnow-young.tmp"}


def test_a_disk_that_fills_while_it_is_written_keeps_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    assert_same(MergedWeights(folder, "one")(2, layer), layers())
    assert list(folder.glob("*/*")) == []


OTHER = """
import sys
sys.path[:0] = [{here!r}]
from test_merged_weights import Path, assert_same, layer, layers, MergedWeights
for _ in range(20):
    assert_same(MergedWeights(Path(sys.argv[1]), "one")(2, layer), layers())
    Path(sys.argv[1], "one", "0.layer").unlink(missing_ok=True)
"""


def test_processes_that_write_read_and_delete_at_once_do_not_disturb_each_other(folder: Path) -> None:
    code = OTHER.format(here=str(Path(__file__).parent))
    others = [subprocess.Popen([sys.executable, "-c", code, folder], stderr=subprocess.PIPE) for _ in range(3)]
    errors = [other.communicate()[1].decode() for other in others]
    assert [other.returncode for other in others] == [0, 0, 0], errors
    assert not any(folder.glob("*/*.tmp"))
