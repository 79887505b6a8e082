"""`winnow mcp install` and `uninstall`: own commands of agents, their files, and what is shown without either."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from winnow_lsp.cli.main import main
from winnow_lsp.mcp.setup import AGENTS, executable

WINNOW = [executable(), "mcp"]
PLAIN = {"command": WINNOW[0], "args": ["mcp"]}
TYPED, NAMED = {"type": "stdio", **PLAIN}, {"name": "winnow", **PLAIN}
LOCAL = {"type": "local", "command": WINNOW, "enabled": True}
# By name: file of the user, file of a project, keys, entry; as each agent's documentation has them.
DOCUMENTED: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "claude-code": ("~/.claude.json", ".mcp.json", "mcpServers", {**TYPED, "alwaysLoad": True}),
    "codex": ("~/.codex/config.toml", ".codex/config.toml", "mcp_servers", {"required": True, **PLAIN}),
    "cursor": ("~/.cursor/mcp.json", ".cursor/mcp.json", "mcpServers", TYPED),
    "vscode": ("`MCP: Open User Configuration`", ".vscode/mcp.json", "servers", TYPED),
    "zed": ("~/.config/zed/settings.json", "", "context_servers", PLAIN),
    "gemini": ("~/.gemini/settings.json", ".gemini/settings.json", "mcpServers", PLAIN),
    "opencode": ("~/.config/opencode/opencode.json", "opencode.json", "mcp", LOCAL),
    "continue": ("~/.continue/config.yaml", ".continue/mcpServers/winnow.yaml", "mcpServers", NAMED),
    "cline": ("~/.cline/data/settings/cline_mcp_settings.json", "", "mcpServers", PLAIN),
    "windsurf": ("~/.codeium/windsurf/mcp_config.json", "", "mcpServers", PLAIN),
    "goose": (
        "~/.config/goose/config.yaml",
        "",
        "extensions",
        {
            "enabled": True,
            "type": "stdio",
            "name": "winnow",
            "description": "Finds code by questions in plain words",
            "cmd": WINNOW[0],
            "args": ["mcp"],
            "envs": {},
            "timeout": 300,
        },
    ),
}
READERS: dict[str, Any] = {".json": json.loads, ".toml": tomllib.loads, ".yaml": yaml.safe_load}
VARIABLES = ("WINNOW_SERVER", "WINNOW_TARGET_KEY", "WINNOW_CACHE_DIR", "WINNOW_MODELS_DIR", "WINNOW_PLAIN_HTTP_HOSTS")
FOLDERS = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "CLINE_DATA_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")
# By name: the agent's program, its arguments to add Winnow for the user, and to remove it.
OWN: dict[str, tuple[str, list[str], list[str]]] = {
    "claude-code": (
        "claude",
        ["mcp", "add-json", "--scope", "user", "winnow", json.dumps({"type": "stdio", "alwaysLoad": True, **PLAIN})],
        ["mcp", "remove", "--scope", "user", "winnow"],
    ),
    "vscode": ("code", ["--add-mcp", json.dumps({"name": "winnow", **TYPED})], []),
    "gemini": (
        "gemini",
        ["mcp", "add", "--scope", "user", "winnow", WINNOW[0], "--", "mcp"],
        ["mcp", "remove", "--scope", "user", "winnow"],
    ),
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without any agent's program, in which the commands run as well."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    for variable in (*VARIABLES, *FOLDERS, "WINNOW_DRAFTER", "WINNOW_TARGET"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def entry_of(name: str, text: str) -> Any:
    """Winnow's entry in an agent's configuration."""
    file, _, key, _ = DOCUMENTED[name]
    servers = READERS.get(Path(file).suffix, json.loads)(text)[key]
    return servers[0] if isinstance(servers, list) else servers["winnow"]


def written(home: Path, name: str) -> Path:
    """The user's configuration of an agent, in a folder that is there."""
    file = home / DOCUMENTED[name][0].removeprefix("~/")
    file.parent.mkdir(parents=True, exist_ok=True)
    return file


def program(home: Path, name: str, then: str = "") -> Path:
    """A program on the PATH that writes its arguments, a line each, and its folder into a file. Returns that file."""
    told = home / "told"
    file = home / "bin" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f'#!/bin/sh\nprintf "%s\\n" "$PWD" "$@" > {told}\n{then}\n')
    file.chmod(0o755)
    return told


@pytest.mark.parametrize("name", AGENTS)
def test_what_to_add_is_shown_where_the_program_is_not_there(
    name: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, _, _, entry = DOCUMENTED[name]
    for options, said in (["--print"], f"{file} needs"), ([], f"Nothing was changed. Add this to {file}"):
        assert main(["mcp", "install", name, *options]) == 0
        shown = capsys.readouterr()
        assert entry_of(name, shown.out) == entry
        assert said in shown.err
    assert main(["mcp", "uninstall", name]) == 0
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{ // mine\n}", "mcp.json is damaged or has comments. Add this to it:"),
        ('{"mcpServers": {"winnow": {"command":"mine"}}}', 'Put this in place of "winnow" in ~/.cursor/mcp.json:'),
    ],
)
def test_why_a_user_has_to_edit_is_said(text: str, said: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file := written(home, "cursor")).write_text(text)
    assert main(["mcp", "install", "cursor"]) == 0
    assert (file.read_text(), said in capsys.readouterr().err) == (text, True)


@pytest.mark.parametrize("name", [name for name in AGENTS if name not in (*OWN, "vscode")])
def test_a_configuration_gets_the_entry_and_loses_it(
    name: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(home, name)
    for _ in range(2):
        assert main(["mcp", "install", name]) == 0
        assert entry_of(name, before := file.read_text()) == DOCUMENTED[name][3]
    assert "already" in capsys.readouterr().out
    monkeypatch.setenv("WINNOW_MODELS_DIR", "models")
    monkeypatch.setenv("WINNOW_TARGET", "http://user:secret@127.0.0.1:1/v1")
    assert main(["mcp", "install", name]) == 2
    monkeypatch.setenv("WINNOW_TARGET", "http://127.0.0.1:1/v1#b")
    monkeypatch.setenv("WINNOW_DRAFTER", "bin/one.gguf")
    program(home, "one.gguf")
    assert main(["mcp", "install", name]) == 0
    entry = entry_of(name, file.read_text())
    [variables] = [entry[key] for key in ("env", "envs", "environment") if key in entry]
    models = {"WINNOW_TARGET": "http://127.0.0.1:1/v1#b", "WINNOW_DRAFTER": str(home / "bin" / "one.gguf")}
    assert variables == {"WINNOW_MODELS_DIR": str(home / "models"), **models}
    for variable in ("WINNOW_MODELS_DIR", *models):
        monkeypatch.delenv(variable)
    assert main(["mcp", "install", name]) == 0
    assert file.read_text() == before
    for _ in range(2):
        assert main(["mcp", "uninstall", name]) == 0
        assert not file.exists()


@pytest.mark.parametrize("name", OWN)
def test_the_agents_own_command_adds_and_removes(name: str, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command, add, remove = OWN[name]
    told = program(home, command)
    assert main(["mcp", "install", name]) == 0
    assert f"{AGENTS[name].title} has Winnow now" in capsys.readouterr().out
    assert told.read_text().splitlines()[1:] == add
    told.unlink()
    if name != "vscode":
        written(home, name).write_text(json.dumps({"mcpServers": {"winnow": {}}}))
    assert main(["mcp", "uninstall", name]) == 0
    assert told.exists() == bool(remove)
    assert not remove or told.read_text().splitlines()[1:] == remove


@pytest.mark.parametrize("name", OWN)
def test_variables_reach_the_own_command(
    name: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = program(home, OWN[name][0])
    variables = {"WINNOW_CACHE_DIR": "~/c", "WINNOW_TARGET_KEY": "s3cret", "WINNOW_HTTP_TOKEN": "s3cret"}
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    assert main(["mcp", "install", name]) == 0
    assert str(home / "c") in (arguments := told.read_text())
    assert "s3cret" not in arguments
    assert "WINNOW_TARGET_KEY is secret and was not written" in capsys.readouterr().err
    assert name != "gemini" or arguments.split()[6:] == [WINNOW[0], "-e", f"WINNOW_CACHE_DIR={home / 'c'}", "--", "mcp"]


@pytest.mark.parametrize("name", AGENTS)
def test_a_project_is_the_folder_one_is_in(
    name: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = DOCUMENTED[name][1]
    if not file:
        assert main(["mcp", "install", name, "--project"]) == 1
        assert "no servers of a project" in capsys.readouterr().err
        return
    monkeypatch.setenv("WINNOW_MODELS_DIR", "/models")
    (home / "model.gguf").touch()
    options = ["-w", ".", "--target", "model.gguf", "--set", "index.shared=team", "--set", "files.exclude=/docs"]
    assert main(["mcp", "install", name, "--project", *options]) == 0
    shown = capsys.readouterr()
    assert f"Whoever uses {home / file} needs `winnow` on the PATH" in shown.out
    assert "WINNOW_MODELS_DIR is of this machine" in shown.err
    text = (home / file).read_text()
    assert str(home) not in text
    assert "/models" not in text
    entry = entry_of(name, text)
    command = entry["command"] if isinstance(entry["command"], list) else [entry["command"], *entry["args"]]
    assert command == ["winnow", "mcp", "--set=index.shared=team", "--set=files.exclude=/docs", "--target=model.gguf"]
    assert main(["mcp", "uninstall", name, "--project"]) == 0
    assert [path.name for path in home.iterdir()] == ["model.gguf"]


@pytest.mark.parametrize("name", ["elsewhere", "a=b"])
def test_a_project_gets_no_path_of_this_machine(
    name: str, home: Path, tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path_factory.mktemp(name)
    assert main(["mcp", "install", "codex", "--project", "-w", str(folder)]) == 1
    assert f"--workspace={folder} is of this machine" in capsys.readouterr().err
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(("name", "link", "to"), [("codex", ".codex", "."), ("claude-code", ".mcp.json", "file")])
def test_a_link_does_not_lead_out_of_the_project(
    name: str, link: str, to: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project, elsewhere = home / "project", home / "elsewhere"
    for folder in (project, elsewhere):
        folder.mkdir()
    (project / link).symlink_to(elsewhere / to)
    monkeypatch.chdir(project)
    assert main(["mcp", "install", name, "--project"]) == 1
    assert "leads out of the project" in capsys.readouterr().err
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("search", ["", "{home}/bin:"])
def test_a_program_of_the_folder_one_is_in_does_not_run(
    search: str, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    told = program(home, "claude")
    monkeypatch.chdir(home / "bin")
    monkeypatch.setenv("PATH", search.format(home=home) or ".")
    assert main(["mcp", "install", "claude-code"]) == 0
    assert "Nothing was changed" in capsys.readouterr().err
    assert not told.exists()


def test_options_are_written_so_that_they_work_from_any_folder(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "install", "gemini", "-w", "nowhere"]) == 4
    (home / "model.gguf").touch()
    models = ["--drafter", "smollm2-135m", "--target", "model.gguf"]
    files = ["-w", ".", "--set", "files.exclude=install", "--set", "files.exclude=--http"]
    assert main(["mcp", "install", "gemini", "--print", *models, *files, "--no-server"]) == 0
    [server] = json.loads(capsys.readouterr().out)["mcpServers"].values()
    command, *arguments = server["args"]
    assert command == "mcp"
    absolute = ["--drafter=smollm2-135m", f"--target={home / 'model.gguf'}", f"--workspace={home}"]
    others = ["--set=files.exclude=install", "--set=files.exclude=--http", "--no-server"]
    assert sorted(arguments) == sorted([*absolute, *others])


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["install", "emacs"], "'emacs' is not one of"),
        (["install", "curser"], "Did you mean cursor?"),
        (["install", "codex", "--target", "http://me:s3cret@127.0.0.1:1"], "put a key into WINNOW_TARGET_KEY"),
        (["install", "zed", "--skill"], "--skill is for claude-code, codex, opencode"),
        (["install", "codex", "--http", "1"], "No such option"),
        (["--no-server", "install", "codex"], "--no-server goes behind `install`"),
        (["--drafter", "x", "uninstall", "codex"], "--drafter goes behind `uninstall`"),
    ],
)
def test_bad_usage_runs_nothing(home: Path, arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    told = program(home, "codex")
    assert main(["mcp", *arguments]) == 2
    assert why in capsys.readouterr().err
    assert not told.exists()


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_the_help_lists_the_clients_in_whole_words(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["mcp", command, "--help"])
    usage, *rest = capsys.readouterr().out.splitlines()
    assert usage == f"Usage: winnow mcp {command} [OPTIONS] CLIENT"
    assert f"CLIENT is one of {', '.join(AGENTS)}." in " ".join(map(str.strip, rest))
