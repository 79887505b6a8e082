"""The agents that `winnow mcp install` sets up: where each keeps its configuration, and what it wants in there."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from winnow_lsp.mcp.setup import json_text, toml_text

NAME = "winnow"
Command = Sequence[str]


@dataclass(frozen=True)
class Machine:
    """What decides where configurations lie."""

    home: Path = field(default_factory=Path.home)
    platform: str = sys.platform
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def set_by(self, variable: str, otherwise: Path) -> Path:
        """The folder that an environment variable names, or else another one."""
        return Path(self.environment[variable]) if self.environment.get(variable) else otherwise

    @property
    def config(self) -> Path:
        """The XDG Base Directory Specification's folder."""
        return self.set_by("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def roaming(self) -> Path:
        """Windows' folder of settings."""
        return self.set_by("APPDATA", self.home / "AppData" / "Roaming")


@dataclass(frozen=True)
class Client:
    """An agent. Of several files the first that exists counts, or else the first."""

    title: str
    user: Callable[[Machine], tuple[Path, ...]]
    keys: tuple[str, ...]
    """Where its servers are in the file."""
    entry: Callable[[Command], dict[str, Any]]
    """What starts a server."""
    source: str
    """Its maker's documentation of all this, as read in November 2026."""
    project: tuple[str, ...] = ()
    """Its files in a project; none if it has none."""
    text: ModuleType = json_text
    """What reads and edits the format."""
    then: str = "Restart it."
    native: tuple[str, ...] | None = None
    """Other keys, which count where a file has them."""

    def keys_in(self, data: Any) -> tuple[str, ...]:
        """Where the servers are in a file of this content."""
        return self.native if self.native is not None and _has(data, self.native) else self.keys


def _has(data: Any, keys: tuple[str, ...]) -> bool:
    for key in keys:
        if not isinstance(data, dict) or key not in data:
            return False
        data = data[key]
    return isinstance(data, dict)


def _plain(command: Command) -> dict[str, Any]:
    return {"command": command[0], "args": list(command[1:])}


def _typed(command: Command) -> dict[str, Any]:
    return {"type": "stdio", **_plain(command)}


def _listed(command: Command) -> dict[str, Any]:
    return {"type": "local", "command": list(command), "enabled": True}


def _vscode(machine: Machine) -> tuple[Path, ...]:
    if machine.platform == "darwin":
        folder = machine.home / "Library" / "Application Support"
    else:
        folder = machine.roaming if machine.platform == "win32" else machine.config
    return (folder / "Code" / "User" / "mcp.json",)


def _zed(machine: Machine) -> tuple[Path, ...]:
    if machine.platform == "win32":
        folder = machine.roaming / "Zed"
    else:
        folder = (machine.home / ".config" if machine.platform == "darwin" else machine.config) / "zed"
    return (folder / "settings.json",)


CLIENTS: dict[str, Client] = {
    "claude-code": Client(
        "Claude Code",
        lambda machine: (machine.set_by("CLAUDE_CONFIG_DIR", machine.home) / ".claude.json",),
        ("mcpServers",),
        _typed,
        "https://code.claude.com/docs/en/mcp",
        project=(".mcp.json",),
        then="Start a new session; in a project, it asks whether you trust the server.",
    ),
    "codex": Client(
        "Codex",
        lambda machine: (machine.set_by("CODEX_HOME", machine.home / ".codex") / "config.toml",),
        ("mcp_servers",),
        _plain,
        "https://developers.openai.com/codex/mcp",
        project=(".codex/config.toml",),
        text=toml_text,
        then="Start a new session; of a project, it reads this only where you trust the project.",
    ),
    "cursor": Client(
        "Cursor",
        lambda machine: (machine.home / ".cursor" / "mcp.json",),
        ("mcpServers",),
        _typed,
        "https://cursor.com/docs/mcp",
        project=(".cursor/mcp.json",),
    ),
    "vscode": Client(
        "VS Code",
        _vscode,
        ("servers",),
        _typed,
        "https://code.visualstudio.com/docs/agents/reference/mcp-configuration",
        project=(".vscode/mcp.json",),
        then="It asks whether you trust the server.",
    ),
    "zed": Client(
        "Zed", _zed, ("context_servers",), _plain, "https://zed.dev/docs/ai/mcp", then="It starts the server by itself."
    ),
    "gemini": Client(
        "Gemini CLI",
        lambda machine: (machine.home / ".gemini" / "settings.json",),
        ("mcpServers",),
        _plain,
        "https://geminicli.com/docs/tools/mcp-server",
        project=(".gemini/settings.json",),
    ),
    "opencode": Client(
        "opencode",
        lambda machine: tuple(machine.config / "opencode" / name for name in ("opencode.json", "opencode.jsonc")),
        ("mcp",),
        _listed,
        "https://opencode.ai/docs/mcp-servers",
        project=("opencode.json", "opencode.jsonc"),
        # opencode 2 reads both forms; a file that has its own keeps it.
        native=("mcp", "servers"),
    ),
}
