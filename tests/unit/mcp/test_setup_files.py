"""Configuration files and instructions of users keep every byte that is not Winnow's."""

from pathlib import Path

import pytest

from winnow_engine.errors import AgentSetupError
from winnow_lsp.cli.main import main
from winnow_lsp.mcp.setup_files import Entry, Slot, UnknownFormError, entry_in, with_entry, without_entry
from winnow_lsp.mcp.setup_skill import SKILLS, install_skill, uninstall_skill

JSON: tuple[Slot, Entry] = (Slot("mcpServers"), {"command": "/ü", "args": ['--a="b'], "env": {"A": "b"}})
TOML: tuple[Slot, Entry] = (Slot("mcp_servers"), {"required": True, "args": ["mcp"], "env": {"A B": "b"}})
TABLE: tuple[Slot, Entry] = (Slot("extensions"), {"enabled": True, "args": ["mcp"], "envs": {"A": "yes"}})
LIST: tuple[Slot, Entry] = (Slot("mcpServers", True, "schema: v1\n"), {"name": "winnow", "args": ["mcp"]})


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        *((JSON, "a.json", text) for text in ("", "{}", "{}\n", '{"mcpServers": {}}', '{\n  "mcpServers": {}\n}\n')),
        (JSON, "a.json", '{"mcpServers":{"a":{"command":"x","args":["-y","b"]}}, "z": 1e5}'),
        (JSON, "a.jsonc", '{\n\t"a": 1\n}'),
        (JSON, "a.json", '{\r\n  "a": 1\r\n}\r\n'),
        (JSON, "a.json", '{"projects": {"/x": {"mcpServers": {"b": {}}}}}'),
        (JSON, "a.json", '{"projects": {"/x": {"mcpServers": {"b": {}}}}, "mcpServers": {"c": {}}}'),
        (TOML, "a.toml", "x = 1"),
        (TOML, "a.toml", '# c\n[mcp_servers.o]\ncommand="a" # hi\n\n# about profiles\n[profiles.a]\nx = 1\n'),
        (TABLE, "a.yaml", "A: b # c"),
        (TABLE, "a.yaml", "A: b\nextensions: # mine\n    dev:\n        args: []\nZ: 1\n"),
        (TABLE, "a.yaml", "# only a comment\n"),
        (LIST, "a.yaml", "name: M\nmcpServers:\n- name: o\n  command: x\nz: 1\n"),
        (LIST, "a.yaml", "mcpServers:\n  - name: o\n    command: x\n"),
    ],
)
def test_an_entry_comes_and_goes(kind: tuple[Slot, Entry], name: str, text: str, tmp_path: Path) -> None:
    (slot, entry), file = kind, tmp_path / name
    file.write_bytes(text.encode())
    for one in (entry, {**entry, "args": ["other"]}, entry):
        file.write_bytes(with_entry(file, slot, one).encode())
        assert entry_in(file, slot) == one
    assert without_entry(file, slot) == text


@pytest.mark.parametrize(
    ("kind", "name", "old", "new", "left"),
    [
        (JSON, "a.json", '"mcpServers": {', '"mcpServers": {"o": {},', '{\n  "mcpServers": {"o": {}\n  }\n}\n'),
        (JSON, "a.json", "{\n", '{\n  "a": 1,\n', '{\n  "a": 1\n}\n'),
        (TOML, "a.toml", " }\n", " }\n\n[projects]\nx = 1\n", "\n[projects]\nx = 1\n"),
        (TABLE, "a.yaml", "extensions:\n", "a: 1\nextensions:\n  o: {}\n", "a: 1\nextensions:\n  o: {}\n"),
        (LIST, "a.yaml", "schema: v1\n", "schema: v2\n", "schema: v2"),
    ],
)
def test_a_file_of_ours_that_others_add_to(
    kind: tuple[Slot, Entry], name: str, old: str, new: str, left: str, tmp_path: Path
) -> None:
    slot, entry = kind
    file = tmp_path / name
    file.write_text(with_entry(file, slot, entry).replace(old, new, 1))
    assert without_entry(file, slot) == left


@pytest.mark.parametrize(
    ("kind", "name", "text"),
    [
        *((JSON, "a.json", text) for text in ("// c\n{}", "[]", '{"mcpServers": []}', '{"a": 1', "\0", "[" * 9999)),
        (TOML, "a.toml", 'mcp_servers = {a = {command = "x"}}\n'),
        (TABLE, "a.yaml", "extensions: {}\n"),
        (TABLE, "a.yaml", "a: &a [x]\nb: [*a, *a]\n"),
    ],
)
def test_what_cannot_be_edited_is_left_alone(kind: tuple[Slot, Entry], name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(UnknownFormError):
        with_entry(file, *kind)


def test_a_file_keeps_its_link_and_its_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (dotfiles := tmp_path / "dotfiles.json").write_text("{}")
    dotfiles.chmod(0o600)
    (tmp_path / ".cursor").mkdir()
    (link := tmp_path / ".cursor" / "mcp.json").symlink_to(dotfiles)
    assert main(["mcp", "install", "cursor"]) == 0
    assert link.is_symlink()
    assert '"winnow"' in dotfiles.read_text()
    assert dotfiles.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mine", [None, "# Mine\n", "# Mine", "<!-- winnow -->\n"])
def test_skills_come_and_go(mine: str | None, tmp_path: Path) -> None:
    if mine is not None:
        for name in ("AGENTS.md", "CLAUDE.md"):
            (tmp_path / name).write_text(mine)
    before = {path: path.read_text() for path in tmp_path.iterdir()}
    for name in SKILLS:
        assert len(install_skill(name, tmp_path)) == 3
        assert install_skill(name, tmp_path) == []
    agents = (tmp_path / "AGENTS.md").read_text()
    assert agents.startswith(mine or "<!-- winnow: codex, opencode -->")
    assert agents.count("find_code") == 1
    for skill in (".claude", ".agents", ".opencode"):
        assert (tmp_path / skill / "skills" / "winnow" / "SKILL.md").read_text().startswith("---\nname: winnow\n")
    assert len(uninstall_skill("codex", tmp_path)) == 3
    assert "<!-- winnow: opencode -->" in (tmp_path / "AGENTS.md").read_text()
    for name in SKILLS:
        uninstall_skill(name, tmp_path)
    assert {path: path.read_text() for path in tmp_path.iterdir()} == before


def test_a_paragraph_is_known_again_with_other_line_ends(tmp_path: Path) -> None:
    shared = tmp_path / "CLAUDE.md"
    shared.write_bytes(b"# Mine\r\n")
    install_skill("claude-code", tmp_path)
    shared.write_bytes(b"\r\n".join(shared.read_bytes().splitlines()) + b"\r\n")
    assert install_skill("claude-code", tmp_path) == []
    uninstall_skill("claude-code", tmp_path)
    assert shared.read_bytes() == b"# Mine\r\n"


def test_a_paragraph_without_its_end_takes_nothing_with_it(tmp_path: Path) -> None:
    shared = tmp_path / "CLAUDE.md"
    shared.write_text(mine := "<!-- winnow: codex -->\nMine\n")
    install_skill("claude-code", tmp_path)
    uninstall_skill("claude-code", tmp_path)
    assert shared.read_text() == mine


def test_a_linked_folder_of_skills_stays(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "skills").symlink_to(tmp_path / "dotfiles")
    install_skill("claude-code", tmp_path)
    assert len(uninstall_skill("claude-code", tmp_path)) == 3
    assert (tmp_path / ".claude" / "skills").is_symlink()


def test_no_skill_is_written_where_a_link_leads_out_of_the_project(tmp_path: Path) -> None:
    project = tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    (project / ".claude" / "agents").symlink_to(tmp_path)
    with pytest.raises(AgentSetupError, match="leads out of the project"):
        install_skill("claude-code", project)
    assert not list(project.rglob("*.md"))


def test_a_skill_of_the_users_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    skill = tmp_path / ".claude" / "skills" / "winnow" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("mine\n")
    assert main(["mcp", "install", "claude", "--project", "--skill"]) == 1
    assert "is not Winnow's" in capsys.readouterr().err
    assert main(["mcp", "uninstall", "claude", "--project"]) == 0
    assert skill.read_text() == "mine\n"
    assert not (tmp_path / "CLAUDE.md").exists()
