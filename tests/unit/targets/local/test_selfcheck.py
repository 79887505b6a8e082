from pathlib import Path

import pytest

from winnow_engine.targets.local.selfcheck import check_build


def test_a_build_that_works_says_what_it_decoded(tiny_llama: Path) -> None:
    check = check_build(tiny_llama)
    assert check.ok, check.detail
    assert "decoded tiny-llama.gguf" in check.detail


def test_a_module_of_the_working_directory_is_not_run(
    tiny_llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "winnow_engine").mkdir()
    (tmp_path / "winnow_engine" / "__init__.py").write_text("raise SystemExit('a trap')")
    monkeypatch.chdir(tmp_path)
    check = check_build(tiny_llama)
    assert check.ok, check.detail


def test_a_child_that_finds_no_model_reports_the_error(tmp_path: Path) -> None:
    check = check_build(tmp_path / "none.gguf")
    assert not check.ok
    assert "no model file at" in check.detail
