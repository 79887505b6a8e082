"""Where the configurations of agents are, and the command that they get."""

import sys
from pathlib import Path

import pytest

from winnow_engine.errors import AgentSetupError
from winnow_lsp.mcp.setup import installing
from winnow_lsp.mcp.setup.clients import CLIENTS, Machine
from winnow_lsp.mcp.setup.installing import executable, place


@pytest.mark.parametrize(
    ("platform", "name", "where"),
    [
        ("darwin", "vscode", "Library/Application Support/Code/User/mcp.json"),
        ("win32", "vscode", "AppData/Roaming/Code/User/mcp.json"),
        ("darwin", "zed", ".config/zed/settings.json"),
        ("win32", "zed", "AppData/Roaming/Zed/settings.json"),
        ("darwin", "opencode", ".config/opencode/opencode.json"),
        ("win32", "codex", ".codex/config.toml"),
        ("win32", "claude-code", ".claude.json"),
    ],
)
def test_places_on_other_platforms(platform: str, name: str, where: str) -> None:
    assert place(CLIENTS[name], None, Machine(Path("/home/me"), platform, {})) == Path("/home/me") / where


@pytest.mark.parametrize(
    ("variable", "name", "where"),
    [
        ("XDG_CONFIG_HOME", "zed", "zed/settings.json"),
        ("XDG_CONFIG_HOME", "vscode", "Code/User/mcp.json"),
        ("XDG_CONFIG_HOME", "opencode", "opencode/opencode.json"),
        ("CODEX_HOME", "codex", "config.toml"),
        ("CLAUDE_CONFIG_DIR", "claude-code", ".claude.json"),
    ],
)
def test_variables_that_move_a_configuration(variable: str, name: str, where: str) -> None:
    machine = Machine(Path("/home/me"), "linux", {variable: "/moved"})
    assert place(CLIENTS[name], None, machine) == Path("/moved") / where


def test_the_command_is_this_installations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Path(executable()).is_absolute()
    assert Path(executable()).parent == Path(sys.executable).parent
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(installing.sysconfig, "get_path", lambda _: str(tmp_path))
    with pytest.raises(AgentSetupError, match="install Winnow with"):
        executable()
    monkeypatch.setattr(sys, "platform", "win32")
    (tmp_path / "winnow.exe").touch()
    assert executable() == str(tmp_path / "winnow.exe")
