"""The folders that a command is about, and the files in them."""

from pathlib import Path

import click
import pytest
from git_repositories import write

from winnow_engine.config import FileRules
from winnow_engine.core import Folder
from winnow_engine.errors import PositionError
from winnow_engine.question import Cursor
from winnow_lsp.cli.options import cursor_of, folders_of


def folders(*given: Path | str) -> tuple[Folder, ...]:
    return folders_of({"workspace": tuple(map(str, given))})


def test_a_single_folder_has_no_name(tmp_path: Path) -> None:
    assert folders(tmp_path) == (Folder(tmp_path),)
    assert folders(tmp_path, tmp_path / "." / "") == (Folder(tmp_path),)


def test_several_are_told_apart_by_name(tmp_path: Path) -> None:
    found = folders(tmp_path / "a" / "src", tmp_path / "b" / "src", tmp_path / "c")
    assert [folder.name for folder in found] == ["src", "src'", "c"]


def test_a_set_stands_for_its_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "winnow").mkdir()
    (tmp_path / "winnow" / "workspaces.toml").write_text('[both]\nfolders = ["/srv/a", "/srv/b"]')
    assert [folder.root for folder in folders("@both", "/srv/c")] == [Path("/srv/a"), Path("/srv/b"), Path("/srv/c")]
    with pytest.raises(click.BadParameter, match="has no set neither"):
        folders("@neither")


def test_a_cursor_is_in_the_folder_that_has_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "b" / "f.py").write_text("x")
    both = folders("a", "b")
    assert cursor_of("f.py:3", both) == Cursor("b/f.py", 3, 3)
    assert cursor_of("b/f.py:3-4", both) == Cursor("b/f.py", 3, 4)
    assert cursor_of("f.py:3", folders("b")) == Cursor("f.py", 3, 3)
    for name in ("g.py", "x" * 300):
        with pytest.raises(PositionError, match=f"there is no file {name}"):
            cursor_of(f"{name}:3", both)
    with pytest.raises(PositionError, match="is outside the workspace"):
        cursor_of("/etc/passwd:1", both)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.log", "x", "ignored by .*gitignore:1"),
        ("build/a.py", "x", "ignored by .*exclude:1"),
        ("a.py", "\0", "binary"),
        ("a.js", "x" * 5000, "larger"),
        ("b.py", "", "empty"),
    ],
)
def test_a_cursor_in_a_file_that_is_left_out_is_refused(tmp_path: Path, name: str, text: str, reason: str) -> None:
    write(tmp_path, {".gitignore": "*.log\n", "ok.py": "x", name: text})
    rules = FileRules(1000, exclude=("/build",))
    assert cursor_of("ok.py:1", folders(tmp_path), rules) == Cursor("ok.py", 1, 1)
    with pytest.raises(PositionError, match=f"{name} is left out: .*{reason}.*; name a file"):
        cursor_of(f"{name}:1", folders(tmp_path), rules)
