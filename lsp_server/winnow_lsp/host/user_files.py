"""The user's files for commands: `winnow.toml` with settings, and `workspaces.toml` with sets of repositories.

They lie in the platform's configuration folder. Neither is read from the repository asked about, which could name a
target of its own to send code to.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from winnow_engine.errors import WorkspaceError
from winnow_engine.platform import expanded, user_folder
from winnow_lsp.host.settings import SECTION, read_values


def user_file(name: str) -> Path | None:
    """The path of one of these files, whether it exists or not; None for a user without a home."""
    folder = user_folder("config")
    return folder and folder / name


def read_settings_file() -> tuple[dict[str, Any], tuple[str, ...]]:
    """The valid values in `winnow.toml` by name, and the problems with the others. Raises WorkspaceError."""
    path = user_file("winnow.toml")
    document = _read(path) or {}
    own = {name: value for name, value in document.items() if f"{name}.".startswith(f"{SECTION}.")}
    beside = {name: value for name, value in document.items() if name not in own}
    return read_values(beside, own, prefix=f"{path}: ")


def workspace_sets() -> tuple[str, ...]:
    """The names of the sets. Raises WorkspaceError if their file cannot be read."""
    return tuple(_read(user_file("workspaces.toml")) or ())


def workspace_set(name: str) -> list[Path]:
    """The folders of a set: `[backend]`, `folders = ["~/src/api"]`, from their file's folder. Raises WorkspaceError."""
    path = user_file("workspaces.toml")
    sets = _read(path)
    if path is None or sets is None:
        missing = f"{path} does not exist" if path else "this user has no home folder"
        raise WorkspaceError(f"there is no set {name}: {missing}; docs/settings.md says how")
    if name not in sets:
        raise WorkspaceError(f"{path} has no set {name}; it has {', '.join(sets) or 'none'}")
    folders = sets[name].get("folders") if isinstance(sets[name], dict) else None
    if not (isinstance(folders, list) and folders and all(isinstance(folder, str) for folder in folders)):
        raise WorkspaceError(f'{path}: the set {name} needs a list of folders: folders = ["~/src/api"]')
    return [path.parent / expanded(folder) for folder in folders]


def _read(path: Path | None) -> dict[str, Any] | None:
    if path is None:
        return None
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise WorkspaceError(f"{path} cannot be read: {error}") from error
