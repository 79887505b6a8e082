"""What is written into the configuration of every agent, kept, refused and undone."""

from __future__ import annotations

import json
import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest

from winnow_engine.errors import AgentSetupError
from winnow_lsp.mcp.setup.clients import CLIENTS, Client, Machine
from winnow_lsp.mcp.setup.installing import Change, apply, installed, place, uninstalled

COMMAND = ["/opt/a b/bin/winnow", "mcp", "--target=é.gguf"]
PLAIN = {"command": COMMAND[0], "args": COMMAND[1:]}
TYPED = {"type": "stdio", **PLAIN}
# By name: file of the user, file of a project, keys, entry; as each agent's documentation has them.
DOCUMENTED: dict[str, tuple[str, str | None, str, dict[str, Any]]] = {
    "claude-code": (".claude.json", ".mcp.json", "mcpServers", TYPED),
    "codex": (".codex/config.toml", ".codex/config.toml", "mcp_servers", PLAIN),
    "cursor": (".cursor/mcp.json", ".cursor/mcp.json", "mcpServers", TYPED),
    "vscode": (".config/Code/User/mcp.json", ".vscode/mcp.json", "servers", TYPED),
    "zed": (".config/zed/settings.json", None, "context_servers", PLAIN),
    "gemini": (".gemini/settings.json", ".gemini/settings.json", "mcpServers", PLAIN),
    "opencode": (
        ".config/opencode/opencode.json",
        "opencode.json",
        "mcp",
        {"type": "local", "command": COMMAND, "enabled": True},
    ),
}
OTHER = {
    "json": '// mine\n{\n    "theme": "dark", /* why not */\n    "KEY": {\n        // the other\n'
    '        "other": {"command": "x",},\n    },\n}\n',
    "toml": "# mine\nmodel = \"m\"   # why not\n\n[KEY.other]\ncommand = 'x'\n",
}


def read(path: Path) -> Any:
    """What the agent reads: strict where Winnow wrote all of it."""
    return tomllib.loads(path.read_text()) if path.suffix == ".toml" else json.loads(path.read_text())


def other(client: Client) -> str:
    """A configuration with comments and another server."""
    kind = "toml" if client.user(Machine())[0].suffix == ".toml" else "json"
    return OTHER[kind].replace("KEY", client.keys[0])


def install(client: Client, path: Path) -> list[Path]:
    return apply(installed(client, path, COMMAND))


def uninstall(client: Client, path: Path) -> list[Path]:
    return apply(uninstalled(client, path))


def test_the_documented_entry_is_written_where_it_is_looked_for(name: str, client: Client, path: Path) -> None:
    user, _, key, entry = DOCUMENTED[name]
    assert path == Path.home() / user
    assert install(client, path) == []
    assert read(path) == {key: {"winnow": entry}}
    assert uninstall(client, path) == []
    assert not path.exists()


def test_a_project_has_its_own_file(name: str, client: Client, tmp_path: Path) -> None:
    project = DOCUMENTED[name][1]
    if project is None:
        with pytest.raises(AgentSetupError, match="no servers of a project"):
            place(client, tmp_path, Machine())
    else:
        assert place(client, tmp_path, Machine()) == tmp_path / project


def test_what_is_there_stays_and_comes_back(client: Client, path: Path) -> None:
    path.write_text(other(client))
    install(client, path)
    after = path.read_text()
    assert [line for line in other(client).splitlines() if line not in after.splitlines()] == []
    data = client.text.read(after)
    assert data.pop(client.keys[0]) == {"other": {"command": "x"}, "winnow": client.entry(COMMAND)}
    uninstall(client, path)
    assert path.read_text() == other(client)


def test_twice_is_once(client: Client, path: Path) -> None:
    path.write_text(other(client))
    install(client, path)
    once, number = path.read_bytes(), path.stat().st_ino
    install(client, path)
    assert (path.read_bytes(), path.stat().st_ino) == (once, number)
    uninstall(client, path)
    number = path.stat().st_ino
    uninstall(client, path)
    assert path.stat().st_ino == number


@pytest.mark.parametrize("broken", ["{", "= 1", "\x00", "\udcff"])
def test_a_broken_file_is_left_alone(client: Client, path: Path, broken: str) -> None:
    path.write_text(broken, errors="surrogateescape")
    for change in (install, uninstall):
        with pytest.raises(AgentSetupError, match="left as it is"):
            change(client, path)
    assert path.read_text(errors="surrogateescape") == broken


def test_another_winnow_is_left_alone_and_shown(client: Client, path: Path) -> None:
    path.write_text(client.text.add(None, client.keys, "winnow", {"command": "wheat", "args": ["mcp"]}))
    before = path.read_bytes()
    with pytest.raises(AgentSetupError, match="remove it first") as refused:
        install(client, path)
    assert "wheat" in str(refused.value)
    assert COMMAND[0] in str(refused.value)
    with pytest.raises(AgentSetupError, match="so it stays"):
        uninstall(client, path)
    assert path.read_bytes() == before


def test_winnow_with_other_options_can_be_taken_out(client: Client, path: Path) -> None:
    install(client, path)
    with pytest.raises(AgentSetupError, match="`winnow mcp uninstall` takes it out"):
        apply(installed(client, path, [*COMMAND, "--no-server"]))
    uninstall(client, path)
    assert not path.exists()


def test_a_folder_that_is_missing_is_made_and_named(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "config"
    assert install(client, path) == [tmp_path / "a" / "b", tmp_path / "a"]


def test_a_folder_that_cannot_be_written_to_is_named(client: Client, tmp_path: Path) -> None:
    folder = tmp_path
    if os.geteuid() == 0:
        folder = Path("/proc")  # root may write anywhere but there
    else:
        folder.chmod(0o500)
    path = folder / "winnow-test.json"
    with pytest.raises(AgentSetupError, match=f"{path} cannot be written"):
        install(client, path)
    assert not path.exists()


def test_the_mode_stays_and_nothing_else_is_left(client: Client, path: Path) -> None:
    path.write_text(other(client))
    path.chmod(0o640)
    install(client, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(path.parent.iterdir()) == [path]


def test_a_link_stays_and_its_file_changes(client: Client, path: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles"
    real.mkdir()
    real /= "config"
    real.write_text(other(client))
    path.symlink_to(real)
    install(client, path)
    assert path.is_symlink()
    assert "winnow" in real.read_text()
    uninstall(client, path)
    assert path.is_symlink()
    assert real.read_text() == other(client)


def test_links_in_a_circle_and_what_is_no_file_are_refused(client: Client, path: Path) -> None:
    path.symlink_to(path.with_name("loop"))
    path.with_name("loop").symlink_to(path)
    with pytest.raises(AgentSetupError, match="circle"):
        install(client, path)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(AgentSetupError, match="not a file"):
        install(client, path)


def test_a_projects_link_that_leads_out_of_it_is_refused(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / ".mcp.json").symlink_to(tmp_path / "settings.json")
    with pytest.raises(AgentSetupError, match="out of the project"):
        place(CLIENTS["claude-code"], project, Machine())


def test_a_file_that_changes_meanwhile_is_not_overwritten(client: Client, path: Path) -> None:
    path.write_text(other(client))
    change = installed(client, path, COMMAND)
    path.write_text("")
    with pytest.raises(AgentSetupError, match="another program"):
        apply(change)
    assert path.read_text() == ""


def test_a_write_that_fails_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    path.write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(AgentSetupError, match="No space left"):
        apply(Change(path, b"old", b"new"))
    assert path.read_text() == "old"
    assert list(path.parent.iterdir()) == [path]


def test_opencodes_file_with_comments_counts_and_its_second_form_is_kept(tmp_path: Path) -> None:
    opencode, path = CLIENTS["opencode"], tmp_path / "opencode.jsonc"
    path.write_text('{"mcp": {"servers": {}}} // mine\n')
    assert place(opencode, tmp_path, Machine()) == path
    install(opencode, path)
    assert opencode.text.read(path.read_text()) == {
        "mcp": {"servers": {"winnow": {"type": "local", "command": COMMAND}}}
    }
    uninstall(opencode, path)
    assert path.read_text() == '{"mcp": {"servers": {}}} // mine\n'
