"""Paths as agents write them: absolute, as URIs, with backslashes or lines, or from a folder above the workspace."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from winnow_engine.core import Folder
from winnow_engine.errors import PositionError
from winnow_engine.untrusted import printable
from winnow_lsp.host.roots import below, file_at, file_path

_LINES = re.compile(r"(?::|#L)(\d{1,9})(?:-L?(\d{1,9})|:\d+)?$")
_WILDCARD = re.compile(r"[*?\[{]")

Lines = tuple[int, int] | None
"""First and last line that were written behind a path."""


def workspace_path(folders: Sequence[Folder], written: str) -> str:
    """The path in the workspace that an agent means, "" for the workspace itself; it need not exist.

    Raises PositionError for one outside of the workspace.
    """
    return workspace_place(folders, written)[0]


def workspace_place(folders: Sequence[Folder], written: str) -> tuple[str, Lines]:
    """As `workspace_path`, with the lines that were written behind the path."""
    text = _without_scheme(written.strip())
    for plain in dict.fromkeys((text, text.replace("\\", "/"))):
        found = _LINES.search(plain)
        for path, lines in (plain, None), *([(plain[: found.start()], _lines(found))] if found else []):
            inside = _inside(folders, path, written)
            if _exists(folders, inside):
                return inside, lines
    return _inside(folders, text.replace("\\", "/"), written), None


def _lines(found: re.Match[str]) -> tuple[int, int]:
    return int(found[1]), int(found[2] or found[1])


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
            place = Path() if path == folder.root else below(path, folder.root)
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
