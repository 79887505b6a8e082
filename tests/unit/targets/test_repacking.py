"""Weights stay as they are in the file where llama.cpp's tiled products are the faster ones."""

from __future__ import annotations

from pathlib import Path

import gguf
import llama_cpp
import numpy as np
import pytest
from gguf import GGMLQuantizationType as Type
from random_models import write_all

from winnow_engine.llama.model import repacking_pays

from .conftest import start

WITH_VNNI = b"CPU : SSE3 = 1 | AVX2 = 1 | AVX512 = 1 | AVX512_VBMI = 1 | AVX512_VNNI = 1 | OPENMP = 1 | REPACK = 1 | "
AVX2 = b"CPU : SSE3 = 1 | SSSE3 = 1 | AVX = 1 | AVX2 = 1 | F16C = 1 | FMA = 1 | BMI2 = 1 | OPENMP = 1 | REPACK = 1 | "


@pytest.mark.parametrize(
    ("build", "types", "pays"),
    [
        (WITH_VNNI, (Type.Q4_K, Type.Q6_K), False),
        (WITH_VNNI, (Type.Q4_K, Type.Q5_0, Type.Q8_0), False),
        (WITH_VNNI, (Type.Q4_K, Type.Q4_0), True),
        (WITH_VNNI, (Type.IQ4_NL,), True),
        (AVX2, (Type.Q4_K, Type.Q6_K), True),
    ],
)
def test_the_build_and_the_types_decide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, build: bytes, types: tuple[Type, ...], pays: bool
) -> None:
    monkeypatch.setattr(llama_cpp, "llama_print_system_info", lambda: build)
    writer = start(tmp_path / "model.gguf", "llama")
    for number, kind in enumerate(types):
        _, block = gguf.GGML_QUANT_SIZES[kind]
        writer.add_tensor(f"blk.{number}.ffn_up.weight", np.zeros((2, block), np.uint8), raw_dtype=kind)
    write_all(writer)
    assert repacking_pays(tmp_path / "model.gguf") is pays
