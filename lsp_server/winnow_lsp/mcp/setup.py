"""Sets agents up to start `winnow mcp`: by the agent's own command, or with a snippet to paste."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winnow_engine.errors import AgentSetupError

NAME = "winnow"
_OWN_COMMAND_S = 60.0
Command = Sequence[str]
Entry = dict[str, Any]


@dataclass(frozen=True)
class AgentProgram:
    """An agent: where its list of servers is, what it wants in there, and its own commands that edit it.

    `add` and `remove` make an own command's arguments for a scope (`user` or `project`), [] where it cannot do that.
    """

    title: str
    files: tuple[str, str]
    """The user's configuration, and a project's: "" if there is none."""
    keys: str
    entry: Callable[[Command], Entry]
    program: str = ""
    add: Callable[[str, Entry], list[str]] = lambda scope, entry: []
    remove: Callable[[str], list[str]] = lambda scope: []
    then: str = "Restart it."


def _plain(command: Command) -> Entry:
    return {"command": command[0], "args": list(command[1:])}


def _typed(command: Command) -> Entry:
    return {"type": "stdio", **_plain(command)}


def _listed(command: Command) -> Entry:
    return {"type": "local", "command": list(command), "enabled": True}


def _of_user(scope: str, *arguments: str) -> list[str]:
    return list(arguments) if scope == "user" else []


AGENTS: dict[str, AgentProgram] = {  # after each maker's documentation, as read in November 2026
    "claude-code": AgentProgram(
        "Claude Code",
        ("~/.claude.json", ".mcp.json"),
        "mcpServers",
        _typed,
        "claude",
        lambda scope, entry: ["mcp", "add-json", "--scope", scope, NAME, json.dumps(entry)],
        lambda scope: ["mcp", "remove", "--scope", scope, NAME],
        "Start a new session; in a project, it asks whether you trust the server.",
    ),
    "codex": AgentProgram(
        "Codex",
        ("~/.codex/config.toml", ".codex/config.toml"),
        "mcp_servers",
        _plain,
        "codex",
        lambda scope, entry: _of_user(scope, "mcp", "add", NAME, "--", entry["command"], *entry["args"]),
        lambda scope: _of_user(scope, "mcp", "remove", NAME),
        "Start a new session; it reads a project's file only where you trust the project.",
    ),
    "cursor": AgentProgram("Cursor", ("~/.cursor/mcp.json", ".cursor/mcp.json"), "mcpServers", _typed),
    "vscode": AgentProgram(
        "VS Code",
        ("`MCP: Open User Configuration`", ".vscode/mcp.json"),
        "servers",
        _typed,
        "code",
        lambda scope, entry: _of_user(scope, "--add-mcp", json.dumps({"name": NAME, **entry})),
        then="It asks whether you trust the server.",
    ),
    "zed": AgentProgram("Zed", ("~/.config/zed/settings.json", ""), "context_servers", _plain),
    "gemini": AgentProgram(
        "Gemini CLI",
        ("~/.gemini/settings.json", ".gemini/settings.json"),
        "mcpServers",
        _plain,
        "gemini",
        lambda scope, entry: ["mcp", "add", "--scope", scope, NAME, entry["command"], "--", *entry["args"]],
        lambda scope: ["mcp", "remove", "--scope", scope, NAME],
    ),
    "opencode": AgentProgram("opencode", ("~/.config/opencode/opencode.json", "opencode.json"), "mcp", _listed),
}


def executable() -> str:
    """The absolute path of this installation's `winnow`, which works outside of its virtual environment as well."""
    name = "winnow.exe" if sys.platform == "win32" else "winnow"
    folders = [Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))]
    found = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if found is None:
        raise AgentSetupError(f"there is no {name} in {folders[0]}: install Winnow with pip, pipx or uv")
    return str(found.absolute())


def snippet(agent: AgentProgram, command: Command) -> str:
    """The configuration that the agent needs, as a file of its own."""
    entry = agent.entry(command)
    if agent.files[0].endswith(".toml"):  # a JSON string, or list of strings, is one of TOML too
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
        return "\n".join([f"[{agent.keys}.{NAME}]", *lines, ""])
    return json.dumps({agent.keys: {NAME: entry}}, indent=2, ensure_ascii=False) + "\n"


def place(agent: AgentProgram, project: Path | None) -> str:
    """The configuration file, of the user or of a project. Raises AgentSetupError for an agent without such a file."""
    if project is None:
        return _moved(agent.files[0])
    if not agent.files[1]:
        raise AgentSetupError(f"{agent.title} has no servers of a project: use --user")
    return str(project / agent.files[1])


def _moved(file: str) -> str:
    """The file where the user's environment moves its folder, else as it is."""
    for variable, folder in (("CLAUDE_CONFIG_DIR", "~"), ("CODEX_HOME", "~/.codex"), ("XDG_CONFIG_HOME", "~/.config")):
        rest = file.removeprefix(f"{folder}/")
        concerned = variable != "CLAUDE_CONFIG_DIR" or file == "~/.claude.json"
        if rest != file and concerned and (other := os.environ.get(variable)):
            return str(Path(other) / rest)
    return file


def install(agent: AgentProgram, command: Command, project: Path | None) -> bool:
    """Have the agent's own command add Winnow. False where there is none: only the user can do it then.

    Raises AgentSetupError if the agent refuses, as it does where it has a server of this name already.
    """
    return _run(agent, agent.add(_scope(project), agent.entry(command)), project)


def uninstall(agent: AgentProgram, project: Path | None) -> bool:
    """Have the agent's own command take Winnow out again: as `install`."""
    return _run(agent, agent.remove(_scope(project)), project)


def _scope(project: Path | None) -> str:
    return "user" if project is None else "project"


def _run(agent: AgentProgram, arguments: list[str], project: Path | None) -> bool:
    """Run the agent's own command, in the project's folder if there is one."""
    program = shutil.which(agent.program) if agent.program else None
    # A folder that one is in, such as a repository, is not to decide what runs: Windows looks there first.
    if program is None or not arguments or not Path(program).is_absolute() or Path(program).parent == Path.cwd():
        return False
    try:
        done = subprocess.run(
            [program, *arguments],
            cwd=project,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_OWN_COMMAND_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise AgentSetupError(f"`{program}` did not work: {error}; --print shows what to add by hand") from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise AgentSetupError(f"{agent.title} refused: {said}; `winnow mcp uninstall` takes an older entry out")
    return True
