"""Sets agents up to start `winnow mcp`: by their own command, in their configuration, or with a snippet to paste."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any

from winnow_engine.errors import AgentSetupError
from winnow_engine.platform import expanded, on_path
from winnow_lsp.mcp.setup_files import (
    NAME,
    Entry,
    Slot,
    UnknownFormError,
    alone,
    entry_in,
    remove_empty,
    with_entry,
    without_entry,
    write,
)

_OWN_COMMAND_S = 60.0
_FOLDERS = ("WINNOW_CACHE_DIR", "WINNOW_MODELS_DIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
_OTHERS = ("WINNOW_DRAFTER", "WINNOW_TARGET", "WINNOW_PLAIN_HTTP_HOSTS", "WINNOW_SERVER")
_MOVED = {  # by variable: the folder that it moves
    "CLAUDE_CONFIG_DIR": "~/.claude/",
    "CODEX_HOME": "~/.codex/",
    "CLINE_DATA_DIR": "~/.cline/data/",
    "XDG_CONFIG_HOME": "~/.config/",
}
Command = Sequence[str]
Environment = Mapping[str, str]


class SetupOutcome(Enum):
    """The end of an installation, or of its opposite."""

    DONE = "done"
    ALREADY = "already"
    BY_HAND = "by hand"


@dataclass(frozen=True)
class AgentProgram:
    """An agent: its configuration files, its entry there, and its own commands that `add` and `remove` the user's."""

    title: str
    files: tuple[str, str]  # the user's configuration, and a project's: "" if there is none
    slot: Slot
    entry: Callable[[Command, Environment], Entry]
    program: str = ""
    add: Callable[[Entry], list[str]] | None = None
    remove: Sequence[str] = ()
    then: str = "Restart it."


def _plain(command: Command, environment: Environment, **more: Any) -> Entry:
    variables = {"env": dict(environment)} if environment else {}
    return {**more, "command": command[0], "args": list(command[1:]), **variables}


def _opencode(command: Command, environment: Environment) -> Entry:
    variables = {"environment": dict(environment)} if environment else {}
    return {"type": "local", "command": list(command), "enabled": True, **variables}


def _goose(command: Command, environment: Environment) -> Entry:
    about = {"enabled": True, "type": "stdio", "name": NAME, "description": "Finds code by questions in plain words"}
    return {**about, "cmd": command[0], "args": list(command[1:]), "envs": dict(environment), "timeout": 300}


def _gemini(entry: Entry) -> list[str]:
    variables = [word for pair in entry.get("env", {}).items() for word in ("-e", "=".join(pair))]
    return ["mcp", "add", "--scope", "user", NAME, entry["command"], *variables, "--", *entry["args"]]


_typed = partial(_plain, type="stdio")

AGENTS: dict[str, AgentProgram] = {  # after each maker's documentation, as read in November 2026
    "claude-code": AgentProgram(
        "Claude Code",
        ("~/.claude.json", ".mcp.json"),
        Slot("mcpServers"),
        partial(_typed, alwaysLoad=True),  # or newer versions show the model only the names of the tools
        "claude",
        lambda entry: ["mcp", "add-json", "--scope", "user", NAME, json.dumps(entry)],
        ("mcp", "remove", "--scope", "user", NAME),
        "Start a new session; in a project, it asks whether you trust the server.",
    ),
    "codex": AgentProgram(
        "Codex",
        ("~/.codex/config.toml", ".codex/config.toml"),
        Slot("mcp_servers"),
        partial(_plain, required=True),  # or a single prompt does not wait; `codex mcp add` cannot write it
        "codex",
        then="Start a new session; it reads a project's file only where you trust the project.",
    ),
    "cursor": AgentProgram("Cursor", ("~/.cursor/mcp.json", ".cursor/mcp.json"), Slot("mcpServers"), _typed, "cursor"),
    "vscode": AgentProgram(
        "VS Code",
        ("`MCP: Open User Configuration`", ".vscode/mcp.json"),
        Slot("servers"),
        _typed,
        "code",
        lambda entry: ["--add-mcp", json.dumps({"name": NAME, **entry})],
        then="It asks whether you trust the server.",
    ),
    "zed": AgentProgram("Zed", ("~/.config/zed/settings.json", ""), Slot("context_servers"), _plain, "zed"),
    "gemini": AgentProgram(
        "Gemini CLI",
        ("~/.gemini/settings.json", ".gemini/settings.json"),
        Slot("mcpServers"),
        _plain,
        "gemini",
        _gemini,
        ("mcp", "remove", "--scope", "user", NAME),
    ),
    "opencode": AgentProgram(
        "opencode", ("~/.config/opencode/opencode.json", "opencode.json"), Slot("mcp"), _opencode, "opencode"
    ),
    "continue": AgentProgram(
        "Continue",
        ("~/.continue/config.yaml", ".continue/mcpServers/winnow.yaml"),
        Slot("mcpServers", listed=True, head="name: Winnow\nversion: 0.0.1\nschema: v1\n"),
        partial(_plain, name=NAME),
        "cn",
    ),
    "cline": AgentProgram(
        "Cline", ("~/.cline/data/settings/cline_mcp_settings.json", ""), Slot("mcpServers"), _plain, "cline"
    ),
    "windsurf": AgentProgram(
        "Windsurf", ("~/.codeium/windsurf/mcp_config.json", ""), Slot("mcpServers"), _plain, "windsurf"
    ),
    "goose": AgentProgram("Goose", ("~/.config/goose/config.yaml", ""), Slot("extensions"), _goose, "goose"),
}


def executable() -> str:
    """The absolute path of this installation's `winnow`, which works outside of its virtual environment as well."""
    folders = [Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))]
    files = (folder / name for folder in folders for name in ("winnow", "winnow.exe"))
    found = next(filter(Path.is_file, files), None)
    if found is None:
        raise AgentSetupError(f"there is no winnow in {folders[0]}: install Winnow with pip, pipx or uv")
    return str(found.absolute())


def environment(variables: Environment = os.environ) -> dict[str, str]:
    """Variables that Winnow needs and that agents may not pass on to it."""
    folders = {name: str(expanded(variables[name]).absolute()) for name in _FOLDERS if variables.get(name)}
    return {**folders, **{name: variables[name] for name in _OTHERS if variables.get(name)}}


def secrets() -> list[str]:
    """Names of the variables with keys and tokens of ours, which no configuration file should have."""
    return sorted(one for one in os.environ if one.startswith("WINNOW_") and one.endswith(("_KEY", "_KEYS", "_TOKEN")))


def portable(command: Command, project: Path) -> Iterator[str]:
    """A command for everybody who works on a project. Raises AgentSetupError for a path of this machine only."""
    for argument in command:
        name, _, value = argument.removeprefix("--set=").partition("=")
        if name.startswith("files.") or not Path(value).is_absolute():  # their patterns may begin with a slash
            yield argument
        elif not Path(value).is_relative_to(project):
            raise AgentSetupError(f"{argument} is of this machine, and a project's configuration is for others as well")
        elif name != "--workspace" or Path(value) != project:
            yield f"{argument.removesuffix(value)}{Path(value).relative_to(project)}"


def snippet(agent: AgentProgram, entry: Entry) -> str:
    """The configuration that the agent needs, as a file of its own."""
    return alone(Path(agent.files[0]).suffix or ".json", agent.slot, entry)


def place(agent: AgentProgram, project: Path | None) -> str:
    """The configuration file, of the user or of a project. Raises AgentSetupError for an agent without such a file."""
    if project is None:
        return _with_comments(moved(agent.files[0]))
    if not agent.files[1]:
        raise AgentSetupError(f"{agent.title} has no servers of a project: use --user")
    return _with_comments(str(project / agent.files[1]))


def _with_comments(file: str) -> str:
    """The name of the file beside it that may have comments, where that one is there."""
    other = file.removesuffix(".json") + ".jsonc"
    return other if file.endswith(".json") and expanded(other).is_file() else file


def moved(file: str) -> str:
    """The file where the user's environment moves its folder, else as it is."""
    for variable, folder in _MOVED.items():
        if other := os.environ.get(variable):
            if file.startswith(folder):
                return str(Path(other) / file.removeprefix(folder))
            if f"{file.removesuffix('.json')}/" == folder:
                return str(Path(other) / Path(file).name)
    return file


def is_there(agent: AgentProgram, project: Path | None) -> bool:
    """True where an agent's files may be written: in a project, or for a user who has its program or its folder."""
    file = expanded(place(agent, project))
    if project is not None or not file.is_absolute():  # a user without a home folder, or no file
        return project is not None
    own_folder = file.parent != expanded("~") and file.parent.is_dir()
    return file.is_file() or own_folder or on_path(agent.program) is not None


def by_hand(agent: AgentProgram, path: str) -> str:
    """What a user has to do with `snippet`, and why it is left to them."""
    present = entry_in(expanded(path), agent.slot)
    if present is NotImplemented:
        return f"{path} is damaged or has comments. Add this to it"
    return f'Put this in place of "{NAME}" in {path}' if present else f"Add this to {path}"


def install(agent: AgentProgram, entry: Entry, project: Path | None) -> SetupOutcome:
    """Have the agent's own command add Winnow, or write its configuration. Raises AgentSetupError if it refuses."""
    file = expanded(place(agent, project))
    if entry_in(file, agent.slot) == entry:
        return SetupOutcome.ALREADY
    if project is None and agent.add:
        return _run(agent, agent.add(entry))
    return _rewrite(agent, file, project, lambda: with_entry(file, agent.slot, entry))


def uninstall(agent: AgentProgram, project: Path | None) -> SetupOutcome:
    """Have the agent's own command take Winnow out again, or take it out of the configuration: as `install`."""
    file = expanded(place(agent, project))
    if file.suffix and entry_in(file, agent.slot) is None:
        return SetupOutcome.ALREADY
    if project is None and agent.add:
        return _run(agent, agent.remove)
    outcome = _rewrite(agent, file, project, lambda: without_entry(file, agent.slot))
    if project is not None:
        remove_empty(file.parent, project)
    return outcome


def _rewrite(agent: AgentProgram, file: Path, project: Path | None, new: Callable[[], str]) -> SetupOutcome:
    with suppress(UnknownFormError):
        if is_there(agent, project):
            write(file, new(), project)
            return SetupOutcome.DONE
    return SetupOutcome.BY_HAND


def _run(agent: AgentProgram, arguments: Sequence[str]) -> SetupOutcome:
    program = on_path(agent.program)
    if program is None or not arguments:
        return SetupOutcome.BY_HAND
    try:
        done = subprocess.run(
            [program, *arguments],
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
    return SetupOutcome.DONE
