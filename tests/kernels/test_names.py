"""One op, one name: kernel, NumPy twin, test and benchmark."""

import re
from pathlib import Path

from test_gpu_compiles import HOPPER, KERNELS

from winnow_research import speed

NAMES = {re.sub("_hopper|_(half|add|swiglu)$", "", kernel.name) for kernel in KERNELS + HOPPER}


def text_of(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.glob("*.py"))


def test_every_kernel_has_a_twin_of_its_name() -> None:
    twins = set(re.findall(r"^def (\w+)_numpy", text_of(Path(__file__).parent), re.M)) | {"embedding"}  # table[ids]
    of_processors = {"int8_gemm", "int8_swiglu", "swiglu"}  # a device has products of float16, SwiGLU at their end
    of_processors |= {"maxsim", "unit_mass"}  # 8 ms of a question
    of_drafts = {"block_choices", "repeated_suffix"}  # what they find in logits and text that are on the host
    assert twins == NAMES | of_processors | of_drafts


def test_every_kernel_has_a_test_and_a_benchmark_of_its_name() -> None:
    assert set(re.findall(r"def test_(\w+)\(", text_of(Path(__file__).parent))) >= NAMES
    benchmarks = text_of(Path(speed.__file__).parent)
    assert [name for name in NAMES if not re.search(rf"\b{name}(_for)?\b", benchmarks)] == []
