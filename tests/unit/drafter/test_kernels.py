from pathlib import Path

import pytest

from winnow_engine.drafter.kernels import KernelFolder


def test_kernels_outlive_the_mapping(tmp_path: Path) -> None:
    KernelFolder(tmp_path / "kernels")["gemm-1"] = b"code"
    found = KernelFolder(tmp_path / "kernels")
    assert dict(found) == {"gemm-1": b"code"}
    del found["gemm-1"]
    assert "gemm-1" not in found
    with pytest.raises(KeyError):
        del found["gemm-1"]


def test_a_folder_that_cannot_be_written_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    folder = KernelFolder(tmp_path / "file")
    folder["gemm-1"] = b"code"
    assert len(folder) == 0
