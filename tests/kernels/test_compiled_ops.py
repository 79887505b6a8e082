"""Compiled CPU ops are found from any copy of the package, and from none whose sources differ."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from llvmlite import binding

import winnow_cuda
from winnow_cuda.ops._integers import runs_here

CODE = """
import json
import numpy as np
from winnow_cuda.ops import elementwise
rows = np.ones((2, 6), np.float32)
elementwise.rms_norm(rows, rows[0], 1e-6)
elementwise.swiglu(rows)
kernels = (elementwise._rms_norm, elementwise._swiglu)
print(json.dumps({
    "hits": sum(sum(kernel.stats.cache_hits.values()) for kernel in kernels),
    "folders": [kernel.stats.cache_path for kernel in kernels],
    "source": elementwise.__file__,
}))
"""


def copied(folder: Path) -> Path:
    """Another copy of the package, as a second virtual environment has one."""
    shutil.copytree(Path(winnow_cuda.__file__).parent, folder / "winnow_cuda", ignore=lambda *_: ["__pycache__"])
    return folder


def run(packages: Path, cache: Path | None, first: str = "") -> tuple[int, set[Path]]:
    """Call two ops of the copy in `packages` after some code → how many were found compiled, and where."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    environment["PYTHONPATH"] = str(packages)
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    call = [sys.executable, "-c", first + CODE]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert Path(seen["source"]).is_relative_to(packages)
    return seen["hits"], {Path(folder) for folder in seen["folders"]}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, set[Path]]:
    """A copy that has compiled its ops, their cache, and the folder they are in."""
    packages, cache = copied(tmp_path_factory.mktemp("first")), tmp_path_factory.mktemp("cache")
    hits, folders = run(packages, cache)
    assert hits == 0
    return packages, cache, folders


def test_a_second_environment_compiles_nothing(first: tuple[Path, Path, set[Path]], tmp_path: Path) -> None:
    _, cache, folders = first
    assert run(copied(tmp_path), cache) == (2, folders)
    assert [folder.parent for folder in folders] == [cache]


def test_a_change_of_what_a_kernel_has_inlined_compiles_it_again(
    first: tuple[Path, Path, set[Path]], tmp_path: Path
) -> None:
    _, cache, folders = first
    packages = copied(tmp_path)
    with (packages / "winnow_cuda" / "ops" / "_exp.py").open("a") as file:
        file.write("# another\n")
    hits, others = run(packages, cache)
    assert (hits, others & folders) == (0, set())


def test_what_is_damaged_is_compiled_again(first: tuple[Path, Path, set[Path]], tmp_path: Path) -> None:
    packages, cache, (folder,) = first
    shutil.copytree(cache, tmp_path / "cache")
    (index,) = (tmp_path / "cache" / folder.name).glob("elementwise._rms_norm-*.nbi")
    (code,) = (tmp_path / "cache" / folder.name).glob("elementwise._swiglu-*.nbc")
    index.write_bytes(b"")
    data = bytearray(code.read_bytes())
    data[len(data) // 2] ^= 1
    code.write_bytes(data)
    assert [run(packages, tmp_path / "cache")[0] for _ in range(2)] == [0, 2]


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    hits, folders = run(copied(tmp_path), tmp_path / "file" / "cache")
    assert hits == 0
    assert not any(folder.is_relative_to(tmp_path / "file") for folder in folders)


WARM = """
import numpy as np
from numba.core import event
from winnow_cuda.backends import warm_up
from winnow_cuda.cpu.encoder import CpuEncoder
from winnow_cuda.ops.drafting import block_choices
from winnow_cuda.ops.int8_products import packed_layer
from winnow_cuda.ops._integers import runs_here
from winnow_cuda.shapes import PackedMatrix, Weights
from dataclasses import replace
from test_gpu_encoder import PREFIX, QWEN2, weights_of

with event.install_recorder("numba:compile") as first:
    warm_up()
weights = weights_of(QWEN2, False, True)
if runs_here():
    weights = replace(weights, layers=tuple(map(packed_layer, weights.layers)))
for layer in weights.layers:
    for matrix in (layer.qkv, layer.attn_output, layer.gate_up, layer.ffn_down):
        for part in (matrix.codes, matrix.scales) if isinstance(matrix, PackedMatrix) else (matrix,):
            part.flags.writeable = False
with event.install_recorder("numba:compile") as draft:
    block_choices(np.zeros((1, 2), "f4"), np.zeros((3, 1), "f4"), np.zeros((2, 1), "f4"), 0, 1, 0.0)
with event.install_recorder("numba:compile") as compiled:
    CpuEncoder(weights, PREFIX)
begun = [item.data["dispatcher"].py_func.__name__ for _, item in first.buffer if item.is_start]
print(sum(item.is_start for _, item in draft.buffer) < 6)  # two of ours and `max`; NumPy's methods bring twenty
print(len(begun) - begun.count("impl"), [item.data["dispatcher"].py_func.__name__ for _, item in compiled.buffer])
"""


def test_an_encoder_of_mapped_weights_compiles_few_functions_and_none_once_warm(tmp_path: Path) -> None:
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": os.pathsep.join(sys.path)}
    environment["NUMBA_CACHE_DIR"] = str(tmp_path)
    found = subprocess.check_output([sys.executable, "-c", WARM], env=environment, text=True)
    assert found.split() == ["True", "6" if runs_here() else "4", "[]"]


BITS = """
import hashlib, numpy as np
from winnow_cuda.ops._integers import packed, rounded_rows
from winnow_cuda.ops.int16_attention import int16_attention
from winnow_cuda.ops.int8_products import int8_gemm, int8_swiglu, packed_gate_up

random = np.random.default_rng(0)
normal = lambda *shape: random.standard_normal(shape, np.float32)
rows, heads, none = normal(4000, 1000), normal(3, 700, 2, 64), np.empty((0, 2, 64), np.float32)
for array in (
    rounded_rows(rows).scales[:, : len(rows)], int8_swiglu(rows[:500], packed_gate_up(normal(64, 1000)), 32),
    int8_gemm(rows[:500], packed(normal(64, 1000))), int8_gemm(rows[:500, :901], packed(normal(64, 901))),
    int16_attention(*heads, np.array([0, 700]), none, none),
):
    print(hashlib.sha256(np.ascontiguousarray(array)).hexdigest())
"""


def bits(cache: Path, first: str = "", *arguments: str) -> str:
    """Hashes of what the integers give, after some code."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.check_output([sys.executable, "-c", first + BITS, *arguments], env=environment, text=True)


@pytest.mark.skipif(not runs_here(), reason="needs AVX2")
def test_what_was_compiled_before_gives_the_same_bits(tmp_path: Path) -> None:
    """The process that compiles runs a function by itself, later ones run it in the code of its caller."""
    assert bits(tmp_path) == bits(tmp_path)


OF_ANOTHER = """
import json, sys, winnow_cuda.ops._exp  # Numba asks for the features that are there
from llvmlite import binding
there = binding.get_host_cpu_features()
binding.get_host_cpu_features = lambda: there | json.loads(sys.argv[1])
"""
VNNI = bool(binding.get_host_cpu_features().get("avx512vnni"))


@pytest.mark.skipif(not runs_here(), reason="needs AVX2")
@pytest.mark.parametrize("features", [{"avx512vnni": False}, {"avx512bw": False}, {"avx512bw": False, "avxvnni": VNNI}])
def test_processors_with_fewer_features_give_the_same_bits(features: dict[str, bool], tmp_path: Path) -> None:
    assert bits(tmp_path / "own") == bits(tmp_path / "other", OF_ANOTHER, json.dumps(features))
