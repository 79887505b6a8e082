"""What `winnow bench index` is made of: folders of a wanted size, and its options."""

from pathlib import Path

import pytest

from winnow_engine.keys.workspace_keys import TOKENS_PER_BYTE
from winnow_lsp.cli.main import main
from winnow_research.evaluation.repositories import PinnedRepository, SourceFile
from winnow_research.indexing import material


def test_a_folder_has_about_the_wanted_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PinnedRepository, "files", lambda one: iter([SourceFile(f"{one.name}/a.py", b"x" * 100)]))
    found = material.written(round(5 * 100 * TOKENS_PER_BYTE), tmp_path)
    written = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert len(written) == 5
    assert found.edited in written
    assert found.questions


def test_wrong_options_are_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "index", "--sizes", "many"]) == 2
    assert "'many' is not a list of sizes" in " ".join(capsys.readouterr().err.split())
    assert main(["bench", "index", "--tree", "/no/such/folder"]) == 2
