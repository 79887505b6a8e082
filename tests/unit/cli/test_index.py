import errno
from pathlib import Path

import pytest

from winnow_engine.storage import store
from winnow_lsp.cli.main import main

from ..targets.conftest import write_llama


def test_a_cache_that_can_only_be_read_is_refused_where_a_file_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(store, "make_folder", refuse)
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "shop.py").write_text("def price():\n    return 1\n")
    assert main(["index", "-w", str(tmp_path), "--drafter", str(write_llama(tmp_path / "tiny.gguf"))]) == 4
    assert "make it writable or delete it, or set WINNOW_CACHE_DIR" in capsys.readouterr().err
