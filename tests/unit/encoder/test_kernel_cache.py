import errno
from pathlib import Path
from typing import NoReturn

import pytest

from winnow_engine.encoder.kernel_cache import KernelFolder


def test_kernels_outlive_the_process(tmp_path: Path) -> None:
    KernelFolder(tmp_path / "kernels")["gemm-1"] = b"code"
    found = KernelFolder(tmp_path / "kernels")
    assert (found.get("gemm-1"), found.get("gemm-2")) == (b"code", None)


@pytest.mark.parametrize("damaged", [b"", b"code", b"Xode"])
def test_a_damaged_kernel_counts_as_missing_and_is_written_again(tmp_path: Path, damaged: bytes) -> None:
    folder = KernelFolder(tmp_path)
    folder["gemm-1"] = b"code"
    path = tmp_path / "gemm-1"
    path.write_bytes(damaged + path.read_bytes()[4:] if damaged == b"Xode" else damaged)
    assert folder.get("gemm-1") is None
    folder["gemm-1"] = b"code"
    assert folder.get("gemm-1") == b"code"


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    KernelFolder(tmp_path)["gemm-1"] = b"code"
    assert list(tmp_path.iterdir()) == []
