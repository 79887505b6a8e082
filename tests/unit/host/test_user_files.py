"""Sets of repositories by name, in `workspaces.toml`."""

from pathlib import Path

import pytest

from winnow_engine.errors import WorkspaceError
from winnow_lsp.host.user_files import read_settings_file, user_file, workspace_set


@pytest.fixture
def sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", "/home/someone")
    path = user_file("workspaces.toml")
    assert path.is_relative_to(tmp_path)
    path.parent.mkdir()
    return path


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no set backend: .*workspaces.toml does not exist"),
        ("[other]\nfolders = ['/a']\n[more]\nfolders = ['/b']", "has no set backend; it has other, more"),
        ("", "has no set backend; it has none"),
        ("[backend", "cannot be read"),
        ("backend = 5", "needs a list of folders"),
        ("[backend]\nfolders = '/a'", "needs a list of folders"),
        ("[backend]\nfolders = []", "needs a list of folders"),
        ("[backend]\nfolders = [1]", "needs a list of folders"),
    ],
)
def test_what_is_no_set_is_said(sets: Path, text: str | None, said: str) -> None:
    if text is not None:
        sets.write_text(text)
    with pytest.raises(WorkspaceError, match=said):
        workspace_set("backend")


def test_a_byte_order_mark_is_no_part_of_the_files(sets: Path) -> None:
    sets.write_text("[backend]\nfolders = ['/a']\n", "utf-8-sig")
    assert workspace_set("backend") == [Path("/a")]
    sets.with_name("winnow.toml").write_text("patience = 3\n", "utf-8-sig")
    assert read_settings_file() == ({"patience": 3}, ())


def test_relative_folders_lead_on_from_the_folder_of_their_file(sets: Path) -> None:
    sets.write_text("[backend]\nfolders = ['../api', '~/worker', '/a']\n")
    assert workspace_set("backend") == [sets.parent / "../api", Path("/home/someone/worker"), Path("/a")]
