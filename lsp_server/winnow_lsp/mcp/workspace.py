"""The folders that a client asks about, its roots or the server's own, and paths in them as agents write them.

Those are absolute, URIs, with backslashes or lines, or from a folder above the workspace.
"""

from __future__ import annotations

import asyncio
import os
import posixpath
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from winnow_engine.config import FileRules
from winnow_engine.core import Folder
from winnow_engine.errors import PositionError, WorkspaceError
from winnow_engine.index.files import enters
from winnow_engine.index.workspace import Sources
from winnow_engine.untrusted import printable
from winnow_lsp.host.roots import below, file_at, file_path, is_everything, local_path, named_folders

_LINES = re.compile(r"(?::|#L)(\d{1,9})(?:-L?(\d{1,9})|:\d+)?$")
_WILDCARD = re.compile(r"[*?\[{]")

Lines = tuple[int, int] | None  # first and last line that were written behind a path

_ROOTS_S = 5.0  # for the client to name its roots; one that does not is not asked again
_MOST_SILENT = 100


def workspace_place(folders: Sequence[Folder], written: str) -> tuple[str, Lines]:
    """The path that an agent means, "" for the workspace, and lines behind it. Raises PositionError for one outside."""
    text = _without_scheme(written.strip())
    for plain in dict.fromkeys((text, text.replace("\\", "/"))):
        path, lines = _without_lines(plain)
        for one, its_lines in ((plain, None), (path, lines)):
            inside = _inside(folders, one, written)
            if _exists(folders, inside):
                return inside, its_lines
    return inside, lines  # perhaps the end of a file's path


def _without_lines(text: str) -> tuple[str, Lines]:
    found = _LINES.search(text)
    return (text[: found.start()], (int(found[1]), int(found[2] or found[1]))) if found else (text, None)


def _without_scheme(text: str) -> str:
    if "\0" in text:
        raise PositionError("a path cannot have a null character")
    if text.startswith("file:"):
        try:
            return str(file_path(text))
        except PositionError as error:
            raise PositionError(f"{printable(text)} is no URI of a file: name a path in the workspace") from error
    if text.startswith("~/"):
        with suppress(RuntimeError):  # there is no home
            return str(Path(text).expanduser())
    return text


def _inside(folders: Sequence[Folder], text: str, written: str) -> str:
    """The workspace path of a path: the first reading that exists, or the plain one."""
    relative = posixpath.normpath(text.lstrip("/") or ".")
    if text.startswith("/") or relative.split("/")[0] == "..":
        for folder in sorted(folders, key=lambda folder: -len(folder.root.parts)):
            path = Path(os.path.normpath(folder.root / text))
            place = below(path, folder.root)
            if place is not None:
                return _joined(folder, place.as_posix())
        if not text.startswith("/") or relative == "." or not _exists(folders, relative):
            roots = ", ".join(str(folder.root) for folder in folders)
            raise PositionError(f"{printable(written)} is outside the workspace, {roots}: name what is in that")
    if relative == ".":
        return ""
    return next((path for path in _readings(folders, relative) if _exists(folders, path)), relative)


def _readings(folders: Sequence[Folder], relative: str) -> Iterator[str]:
    """Workspace paths that a relative path may mean: as it is, within one of the folders, or from above it."""
    yield relative
    parts = tuple(relative.split("/"))
    for folder in folders:
        for above in range(len(parts) + 1):
            if not above or folder.root.parts[-above:] == parts[:above]:
                yield _joined(folder, "/".join(parts[above:]))


def _joined(folder: Folder, relative: str) -> str:
    return folder.workspace_path("" if relative == "." else relative).rstrip("/")


def _exists(folders: Sequence[Folder], path: str) -> bool:
    """True for a file or folder of the workspace's folders, and for a glob if its part before a wildcard is one."""
    if path in ("", *(folder.name for folder in folders)):
        return True
    file = file_at(folders, path)
    with suppress(OSError):  # a name that is too long
        if file is not None and file.exists():
            return True
    wildcard = _WILDCARD.search(path)
    return wildcard is not None and _exists(folders, path[: wildcard.start()].rpartition("/")[0])


class Workspaces:
    """The folders that one client may ask about. `within` bounds the roots of clients that are not to be trusted."""

    def __init__(self, default: Path, rules: FileRules, within: Path | None = None) -> None:
        self._default, self._rules, self._within = default, rules, within
        self._silent: list[object] = []  # parameters of clients that did not answer, each of one connection

    async def sources(self, session: ServerSession, notices: list[str] | None = None) -> Sources:
        """The folders of a call; `notices` get a line about roots that are none. WorkspaceError if there is none."""
        roots = await self._roots(session)
        allowed = {uri: root for uri, root in roots.items() if root and self._allows(root)}
        if roots and not allowed:
            raise WorkspaceError(
                f"the client's roots lie outside of {self._within}, which this server is for, or are left out of it"
            )
        if notices is not None and (others := [printable(uri) for uri in roots if uri not in allowed]):
            notices.append(f"roots left out, as missing here or out of bounds: {', '.join(others)}")
        named = {root: root.name for root in map(_sensible, allowed.values() or [self._default])}
        return Sources(tuple(named_folders(named)), self._rules)

    def changed(self, session: ServerSession) -> None:
        """Ask a client for its roots again that did not answer before."""
        self._silent = [one for one in self._silent if one is not session.client_params]

    async def _roots(self, session: ServerSession) -> dict[str, Path | None]:
        """The client's roots, with folders where they are some; {} if it does not say. WorkspaceError if none is."""
        capabilities, client = session.client_capabilities, session.client_params
        if capabilities is None or capabilities.roots is None or any(one is client for one in self._silent):
            return {}
        try:
            return await _asked_roots(session)
        except TimeoutError:
            self._silent = [*self._silent[-_MOST_SILENT:], client]
            return {}

    def _allows(self, root: Path) -> bool:
        return self._within is None or root == self._within or enters(self._within, root, self._rules)


async def _asked_roots(session: ServerSession) -> dict[str, Path | None]:
    """As `_roots`. TimeoutError if the client does not answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated in the protocol, but what today's clients have
        asking = session.list_roots()
    try:
        listed = await asyncio.wait_for(asking, _ROOTS_S)
    except (MCPError, ValidationError):
        return {}
    found = {str(root.uri): _folder(str(root.uri)) for root in listed.roots}
    if found and not any(found.values()):
        raise WorkspaceError(f"no root that the client names is a folder here: {', '.join(map(printable, found))}")
    return found


def _folder(uri: str) -> Path | None:
    path = local_path(uri)
    return path.resolve() if path and path.is_dir() else None


def _sensible(folder: Path) -> Path:
    """The folder, unless it is everything that the user has."""
    resolved = folder.resolve()
    if is_everything(resolved):
        raise WorkspaceError(
            f"{resolved} is no repository: start `winnow mcp` in one, or with --workspace FOLDER, "
            "or have the client name one as its root"
        )
    return resolved
