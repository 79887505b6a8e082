"""Adds Winnow to an agent's configuration and takes it out again: all of it or nothing, in one replacement."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any

from winnow_engine.errors import AgentSetupError
from winnow_lsp.mcp.setup.clients import NAME, Client, Command, Machine


@dataclass(frozen=True)
class Change:
    """What becomes of a file; None where there is none."""

    path: Path
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True)
class _File:
    """A configuration as it is."""

    path: Path
    content: bytes | None
    text: str | None
    data: Any


def executable() -> str:
    """The absolute path of this installation's `winnow`, which works outside of its virtual environment as well."""
    name = "winnow.exe" if sys.platform == "win32" else "winnow"
    folders = [Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))]
    found = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if found is None:
        raise AgentSetupError(f"there is no {name} in {folders[0]}: install Winnow with pip, pipx or uv")
    return str(found.absolute())


def place(client: Client, project: Path | None, machine: Machine) -> Path:
    """The configuration's file, of the user or of a project."""
    if project is not None and not client.project:
        raise AgentSetupError(f"{client.title} has no servers of a project: use --user")
    paths = client.user(machine) if project is None else tuple(project / name for name in client.project)
    path = next((path for path in paths if path.exists()), paths[0])
    if project is not None and not _resolved(path).is_relative_to(_resolved(project)):
        raise AgentSetupError(f"{path} is a link that leads out of the project")
    return path


def snippet(client: Client, command: Command) -> str:
    """What a configuration has to have, as a file of its own."""
    text: str = client.text.add(None, client.keys, NAME, client.entry(command))
    return text


def installed(client: Client, path: Path, command: Command) -> Change:
    """The change that adds Winnow; none of a file that has it already.

    Raises AgentSetupError for a file that cannot be read or edited, or in which the name means something else.
    """
    file, entry = _read(client, path), client.entry(command)
    keys = client.keys_in(file.data)
    if keys != client.keys:
        entry.pop("enabled", None)
    there = _entry(file, keys)
    if there == entry:
        return Change(file.path, file.content, file.content)
    if there is not None:
        raise AgentSetupError(_different(file.path, there, entry))
    try:
        added = client.text.add(file.text, keys, NAME, entry).encode()
    except ValueError as error:
        raise AgentSetupError(
            f"{path} cannot be edited and was left as it is: {error}. It needs:\n{snippet(client, command)}"
        ) from error
    return Change(file.path, file.content, added)


def uninstalled(client: Client, path: Path) -> Change:
    """The change that takes Winnow out; none of a file that does not have it.

    Raises AgentSetupError for a file that cannot be read or edited, or in which the name means something else.
    """
    file = _read(client, path)
    keys = client.keys_in(file.data)
    there = _entry(file, keys)
    if there is None or file.text is None:
        return Change(file.path, file.content, file.content)
    if not _ours(there):
        raise AgentSetupError(f'"{NAME}" in {path} does not start `winnow mcp`, so it stays:\n{_shown(there)}')
    try:
        text = client.text.remove(file.text, keys, NAME)
    except ValueError as error:
        raise AgentSetupError(f"{path} cannot be edited and was left as it is: {error}") from error
    return Change(file.path, file.content, None if text is None else text.encode())


def apply(change: Change) -> list[Path]:
    """Make the change, by replacing the file at once. Returns the folders that had to be made for it.

    Raises AgentSetupError where that is not allowed, or where somebody else changed the file meanwhile.
    """
    if change.after == change.before:
        return []
    made = [folder for folder in change.path.parents if not folder.exists()]
    try:
        if _content(change.path) != change.before:
            raise AgentSetupError(f"{change.path} was changed by another program just now: try again")
        if change.after is None:
            change.path.unlink()
        else:
            change.path.parent.mkdir(parents=True, exist_ok=True)
            _replace(change.path, change.after)
    except OSError as error:
        raise AgentSetupError(f"{change.path} cannot be written: {error.strerror or error}") from error
    return made


def _read(client: Client, path: Path) -> _File:
    """A configuration. A link is followed, so that the file it leads to is the one that changes."""
    path = _resolved(path)
    try:
        content = _content(path)
        text = None if content is None else content.decode()
        data = None if text is None else client.text.read(text)
    except OSError as error:
        raise AgentSetupError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise AgentSetupError(f"{path} is not sound and was left as it is: {error}") from error
    return _File(path, content, text, data)


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError) as error:
        raise AgentSetupError(f"{path} cannot be read: its links go in a circle") from error


def _content(path: Path) -> bytes | None:
    if path.exists() and not path.is_file():
        raise AgentSetupError(f"{path} is not a file")
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes()
    return None


def _entry(file: _File, keys: Sequence[str]) -> Any:
    """What the file has by Winnow's name; None for nothing."""
    data = file.data
    for key in [*keys, NAME]:
        if not isinstance(data, dict):
            return None
        data = data.get(key)
    return data


def _ours(entry: Any) -> bool:
    """Whether an entry starts `winnow mcp`, whatever its options."""
    if not isinstance(entry, dict):
        return False
    command, arguments = entry.get("command"), entry.get("args", [])
    words = [*(command if isinstance(command, list) else [command]), *arguments]
    return len(words) > 1 and PureWindowsPath(str(words[0])).stem == NAME and words[1] == "mcp"


def _different(path: Path, there: Any, entry: Any) -> str:
    advice = "`winnow mcp uninstall` takes it out" if _ours(there) else "rename or remove it first"
    both = f"{_shown(there)}\nnot\n{_shown(entry)}"
    return f'{path} has another "{NAME}" already and was left as it is; {advice}:\n{both}'


def _shown(entry: Any) -> str:
    return json.dumps(entry, indent=2, ensure_ascii=False, default=str)


def _replace(path: Path, content: bytes) -> None:
    """Write a file beside the old one and put it in its place, with its mode."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        # What may be secret is never readable by others, not for a moment.
        mode = 0o600 if path.exists() else 0o666
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, part)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
