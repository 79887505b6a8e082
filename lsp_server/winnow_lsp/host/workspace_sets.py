"""Sets of repositories that a user asks about together, by name.

They stand in `workspaces.toml` in the platform's configuration folder for Winnow:

    [backend]
    folders = ["~/src/api", "~/src/worker"]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import platformdirs

from winnow_engine.errors import WorkspaceError


def sets_file() -> Path:
    """Where the sets are."""
    return Path(platformdirs.user_config_dir("winnow")) / "workspaces.toml"


def workspace_set(name: str) -> list[Path]:
    """The folders of a set. Raises WorkspaceError if there is no such set, or the file is malformed."""
    path = sets_file()
    try:
        sets = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError as error:
        raise WorkspaceError(f"there is no set {name}: {path} does not exist; docs/settings.md says how") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise WorkspaceError(f"{path} cannot be read: {error}") from error
    if name not in sets:
        raise WorkspaceError(f"{path} has no set {name}; it has {', '.join(sets) or 'none'}")
    return [Path(folder).expanduser() for folder in _folders(path, name, sets[name])]


def _folders(path: Path, name: str, found: Mapping[str, Any] | Any) -> list[str]:
    folders = found.get("folders") if isinstance(found, dict) else None
    if not (isinstance(folders, list) and folders and all(isinstance(folder, str) for folder in folders)):
        raise WorkspaceError(f'{path}: the set {name} needs a list of folders: folders = ["~/src/api"]')
    return folders
