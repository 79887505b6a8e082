import errno
import struct
from pathlib import Path
from typing import NoReturn

import gguf
import numpy as np
import pytest
from random_models import write_all

from winnow_engine.errors import ModelDamagedError, ModelNotFoundError, UnsupportedModelError
from winnow_engine.models.gguf_header import read_header, require_supported


def write(path: Path, *, architecture: str = "qwen2", block_count: int | None = 2) -> Path:
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_name("Tiny")
    if block_count is not None:
        writer.add_block_count(block_count)
    writer.add_context_length(128)
    writer.add_rope_freq_base(1e6)
    writer.add_add_bos_token(False)
    writer.add_token_list(["a", "é", "<|end|>", ""])
    writer.add_token_types([1, 1, 3, 1])
    writer.add_tensor("first", np.arange(15, dtype=np.float32).reshape(3, 5))
    writer.add_tensor("second", np.zeros((2, 34), dtype=np.uint8), raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    write_all(writer)
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write(tmp_path / "tiny.gguf")


def test_the_header_says_what_the_model_is(model: Path) -> None:
    header = read_header(model)
    assert (header.architecture, header.name) == ("qwen2", "Tiny")
    assert (header.block_count, header.context_length) == (2, 128)


def test_scalars_are_read_and_arrays_stepped_over(model: Path) -> None:
    values = read_header(model).values
    assert values["qwen2.rope.freq_base"] == 1e6
    assert values["tokenizer.ggml.add_bos_token"] is False
    assert "tokenizer.ggml.tokens" not in values


def test_tensors_lie_where_the_gguf_package_finds_them(model: Path) -> None:
    tensors = read_header(model).tensors
    expected = {
        tensor.name: (tuple(tensor.shape.tolist()[::-1]), tensor.tensor_type, tensor.data_offset, tensor.n_bytes)
        for tensor in gguf.GGUFReader(model).tensors
    }
    assert {name: (t.shape, t.type, t.offset, t.bytes) for name, t in tensors.items()} == expected
    first = tensors["first"]
    data = np.frombuffer(model.read_bytes(), np.float32, count=15, offset=first.offset)
    np.testing.assert_array_equal(data.reshape(first.shape), np.arange(15).reshape(3, 5))


def test_a_file_cut_anywhere_is_damaged(model: Path, tmp_path: Path) -> None:
    whole = model.read_bytes()
    last = max(tensor.offset + tensor.bytes for tensor in read_header(model).tensors.values())
    cut = tmp_path / "cut.gguf"
    for length in range(last):
        cut.write_bytes(whole[:length])
        with pytest.raises(ModelDamagedError, match=r"cut\.gguf"):
            read_header(cut)


def test_a_file_cut_among_the_tensors_is_reported_with_both_sizes(model: Path) -> None:
    last = max(tensor.offset + tensor.bytes for tensor in read_header(model).tensors.values())
    model.write_bytes(model.read_bytes()[: last - 7])
    with pytest.raises(ModelDamagedError, match=f"{last - 7:,} of {last:,} bytes"):
        read_header(model)


def test_a_file_in_a_folder_that_must_not_be_entered_is_there(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(path: Path, **_: bool) -> NoReturn:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "stat", denied)
    with pytest.raises(ModelNotFoundError, match=r"tiny\.gguf cannot be read: Permission denied"):
        read_header(model)


TENSOR = struct.pack("<Q1sIQIQ", 1, b"t", 1, 8, 0, 0)
GARBAGE = {
    "empty": b"",
    "zip archive": b"PK\x03\x04 a zip archive",
    "zeros": b"GGUF" + struct.pack("<IQQ", 3, 2**63, 2**63) + bytes(1000),
    "endless key": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 2**64 - 1) + bytes(1000),
    "endless array": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<QIIQ", 0, 9, 8, 2**64 - 1) + b"\xff" * 1000,
    "unknown kind": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<QI", 0, 99) + bytes(1000),
    "endless dimensions": b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<QI", 0, 2**32 - 1) + bytes(1000),
    "not UTF-8": b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q1s", 1, b"\xff") + bytes(1000),
    "a key twice": b"GGUF" + struct.pack("<IQQ", 3, 0, 2) + 2 * struct.pack("<Q1sIB", 1, b"k", 0, 7),
    "a tensor twice": b"GGUF" + struct.pack("<IQQ", 3, 2, 0) + 2 * TENSOR + bytes(64),
}


@pytest.mark.parametrize("garbage", GARBAGE.values(), ids=GARBAGE)
def test_garbage_is_damaged(garbage: bytes, tmp_path: Path) -> None:
    file = tmp_path / "garbage.gguf"
    file.write_bytes(garbage)
    with pytest.raises(ModelDamagedError):
        read_header(file)


@pytest.mark.parametrize(("version", "says"), [(b"\7\0\0\0", "GGUF version 7;"), (b"\0\0\0\3", "is for big-endian")])
def test_another_version_is_unsupported(model: Path, version: bytes, says: str) -> None:
    model.write_bytes(b"GGUF" + version + model.read_bytes()[8:])
    with pytest.raises(UnsupportedModelError, match=says):
        read_header(model)


def test_a_later_part_alone_is_answered_with_the_first(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError, match=r"its first, m-00001-of-00003\.gguf"):
        read_header(write(tmp_path / "m-00002-of-00003.gguf", block_count=None))


def test_an_unknown_tensor_type_is_unsupported(tmp_path: Path) -> None:
    tensor = struct.pack("<Q1sIQIQ", 1, b"t", 1, 32, 9999, 0)
    file = tmp_path / "new.gguf"
    file.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + tensor + bytes(64))
    with pytest.raises(UnsupportedModelError, match="type 9999"):
        read_header(file)


def test_a_gguf_without_a_language_model_is_unsupported(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError, match="no language model"):
        read_header(write(tmp_path / "clip.gguf", architecture="clip", block_count=None))


@pytest.mark.parametrize("name", ["missing.gguf", ".", "x" * 300, "a\0b"])
def test_what_is_no_file_is_not_found(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="no model file at"):
        read_header(tmp_path / name)


def test_an_unsupported_architecture_is_answered_with_the_supported_ones(tmp_path: Path) -> None:
    header = read_header(write(tmp_path / "mamba.gguf", architecture="mamba"))
    with pytest.raises(UnsupportedModelError, match="'mamba'; supported here: llama, qwen2"):
        require_supported(header, frozenset({"qwen2", "llama"}))


def test_a_supported_architecture_passes(model: Path) -> None:
    header = read_header(model)
    require_supported(header, frozenset({"qwen2"}))
    assert header.architecture == "qwen2"
