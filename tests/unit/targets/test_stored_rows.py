"""Rows of a GGUF as ggml unpacks them: those of the gguf package."""

from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf.constants import GGML_QUANT_SIZES
from gguf.quants import dequantize
from random_models import write_all

from winnow_engine.errors import UnsupportedModelError
from winnow_engine.llama.stored_rows import StoredRows, unpacked

KINDS = [gguf.GGMLQuantizationType[name] for name in ("F32", "F16", "Q8_0", "Q6_K", "Q4_K", "Q4_0")]


def stored(kind: gguf.GGMLQuantizationType) -> np.ndarray:
    """20 rows of 256 values, of random bits where these mean something as scales too."""
    random = np.random.default_rng(3)
    if kind in KINDS[:2]:
        return random.normal(size=(20, 256)).astype(np.float32 if kind is KINDS[0] else np.float16)
    block, size = GGML_QUANT_SIZES[kind]
    return random.integers(0, 60, (20, 256 // block * size), np.uint8)  # so that no half is infinite


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_rows_are_those_of_the_gguf_package(tmp_path: Path, kind: gguf.GGMLQuantizationType) -> None:
    path, data = tmp_path / "one.gguf", stored(kind)
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_block_count(1)
    writer.add_context_length(64)
    writer.add_tensor("token_embd.weight", data, raw_dtype=kind)
    write_all(writer)
    rows = StoredRows(path, "token_embd.weight")
    numbers = np.array([3, 19, 3, 0], np.int32)
    assert len(rows) == 20
    np.testing.assert_array_equal(rows.rows(numbers), np.asarray(dequantize(data, kind), np.float32)[numbers])
    with pytest.raises(UnsupportedModelError, match=r"one.gguf has no tensor 'output.weight'"):
        StoredRows(path, "output.weight")


def test_a_type_that_holds_no_weights_is_an_error() -> None:
    with pytest.raises(UnsupportedModelError, match="weights of the type I32 cannot be read"):
        unpacked(np.zeros((2, 64), np.uint8), gguf.GGMLQuantizationType.I32)
