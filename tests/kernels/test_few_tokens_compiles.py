"""llama.cpp's kernels for few tokens compile for every architecture we name, without a device, unspilled."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

nvrtc = pytest.importorskip("cuda.bindings.nvrtc")

SOURCE = Path(__file__).parents[2] / "engine" / "winnow_llama" / "cuda" / "few_tokens_kernels.cuh"
PRODUCTS = [
    f"winnow::multiply_few_tokens<winnow::{weights}, {tiles}, {gated}>"
    for weights, tiles, gated in product(("Q4_K", "Q6_K"), (1, 2), ("false", "true"))
]
KERNELS = [*PRODUCTS, "winnow::round_tokens<8>", "winnow::round_tokens<16>"]


def done(result: tuple[object, ...]) -> object:
    code, *found = result
    assert int(code) == 0, code  # type: ignore[call-overload]
    return found[0] if found else None


def includes() -> Path:
    import nvidia

    return next(path for root in nvidia.__path__ for path in Path(root).rglob("cuda_fp16.h")).parent


@pytest.mark.parametrize("architecture", ["86", "89", "90", "120"])
def test_compiles_without_spilling(architecture: str) -> None:
    program = done(nvrtc.nvrtcCreateProgram(SOURCE.read_bytes(), b"few_tokens.cu", 0, [], []))
    for kernel in KERNELS:
        done(nvrtc.nvrtcAddNameExpression(program, kernel.encode()))
    options = [f"-arch=sm_{architecture}", f"-I{includes()}", "--ptxas-options=-v", "-use_fast_math", "-std=c++17"]
    code, *_ = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
    log = bytearray(done(nvrtc.nvrtcGetProgramLogSize(program)))  # type: ignore[call-overload]
    done(nvrtc.nvrtcGetProgramLog(program, log))
    said = log.decode()
    assert int(code) == 0, said
    spilled = [int(bytes_) for bytes_ in re.findall(r"(\d+) bytes spill stores", said)]
    assert spilled == [0] * len(KERNELS), said
