"""Which targets may change code: those on a server, and those of 3 billion parameters or more."""

from pathlib import Path

import gguf
import numpy as np
import pytest

from winnow_engine.config import ModelConfig
from winnow_engine.editing.request import check_size
from winnow_engine.errors import NotApplicableError
from winnow_engine.models.target_table import known_targets

_BLOCK, _BLOCK_BYTES = 256, 54  # of TQ1_0


def model(path: Path, rows: int, *, files: int = 1) -> str:
    """A GGUF of `rows` times a million weights, which takes no room on disk."""
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_block_count(1)
    writer.add_context_length(128)
    writer.add_uint16("split.count", files)
    columns = 1_000_192 // _BLOCK * _BLOCK
    size = rows * columns // _BLOCK * _BLOCK_BYTES
    shape = (rows, columns // _BLOCK * _BLOCK_BYTES)  # of bytes
    writer.add_tensor_info("w", shape, np.dtype(np.uint8), size, gguf.GGMLQuantizationType.TQ1_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    writer.close()
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size + size + 64)
    return str(path)


@pytest.mark.parametrize("target", [one.name for one in known_targets() if one.parameters < 3e9])
def test_a_small_registered_model_is_refused_before_it_is_pulled(target: str) -> None:
    with pytest.raises(NotApplicableError, match=r"billion parameters.*winnow\.target"):
        check_size(ModelConfig(target=target))


def test_a_file_counts_by_its_weights(tmp_path: Path) -> None:
    check_size(ModelConfig(target=model(tmp_path / "large.gguf", 3000)))
    with pytest.raises(NotApplicableError, match=r"small\.gguf has 2\.9 billion parameters"):
        check_size(ModelConfig(target=model(tmp_path / "small.gguf", 2900)))
    check_size(ModelConfig(target=model(tmp_path / "part.gguf", 5, files=4)))


@pytest.mark.parametrize("target", ["http://127.0.0.1:1/v1", "/nowhere/model.gguf", "no such model"])
def test_a_server_and_what_cannot_be_read_pass(target: str) -> None:
    check_size(ModelConfig(target=target))
