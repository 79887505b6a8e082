"""The root folders that a client has open, named apart, and the place of a file or URI in them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

from winnow_engine.core import Folder
from winnow_engine.errors import PositionError
from winnow_engine.platform import home, path_of_uri


def file_path(uri: str) -> Path:
    """The path of a `file:` URI. Raises PositionError for any other."""
    try:
        parts = urlsplit(uri)
        host, path = (os.fsdecode(unquote_to_bytes(part)) for part in (parts.netloc, parts.path))
    except ValueError as error:  # half a bracket, half a surrogate pair
        raise PositionError(f"{uri!r} is not a URI: save the document inside the workspace first") from error
    if parts.scheme != "file" or not path.startswith("/") or "\0" in host + path:
        raise PositionError(f"{uri} is not a file: save it inside the workspace first")
    return Path(os.path.normpath(path_of_uri(host, path)))


def local_path(uri: str) -> Path | None:
    """The path of a `file:` URI, None for any other."""
    with suppress(PositionError):
        return file_path(uri)
    return None


def below(file: Path, root: Path, follow: bool = True) -> Path | None:
    """The path relative to the root, by name or else with links resolved if to `follow`; None if it lies elsewhere."""
    if follow and not file.is_relative_to(root):
        try:
            file, root = file.resolve(), root.resolve()
        except (OSError, RuntimeError):  # a circle of links
            return None
    return file.relative_to(root) if file.is_relative_to(root) else None


def named_folders(names: Mapping[Path, str]) -> Iterator[Folder]:
    """The folders with names that differ; a single folder has none."""
    taken = {""}
    for root, name in names.items():
        name = name.replace("/", "-") if len(names) > 1 else ""
        while name in taken and len(names) > 1:
            name += "'"
        taken.add(name)
        yield Folder(root, name)


def is_everything(folder: Path) -> bool:
    """True for the user's home, its disk and the system's, where some clients start servers when no folder is open."""
    real, own = (Path(os.path.realpath(place)) for place in (folder, home() or Path(os.sep)))  # raises nothing
    return real in (own, Path(own.anchor), Path(os.environ.get("SYSTEMDRIVE", "") + os.sep))


def directory_prefix(folders: Sequence[Folder], directory: Path, follow: bool = True) -> str | None:
    """The start of the workspace paths of a directory's files, in the innermost of the folders; None if it is in none.

    Links to a directory or above it are resolved, since none in a folder is followed when the folder is read.
    """
    for place in (Path(os.path.realpath(directory)), directory) if follow else (directory,):
        if inside := [(folder, path) for folder in folders if (path := below(place, folder.root, follow)) is not None]:
            folder, relative = min(inside, key=lambda found: len(found[1].parts))
            return folder.workspace_path(f"{relative.as_posix()}/".removeprefix("./"))
    return None


def workspace_path(folders: Sequence[Folder], file: Path, follow: bool = True) -> str | None:
    """The workspace path of a file, or of the one that it leads to as a link; None if it is in none of the folders.

    A file in a commit is found by name, without `follow`.
    """
    real = Path(os.path.realpath(file)) if follow and os.path.islink(file) else file  # noqa: PTH114  raises nothing
    for place in (real, file):
        if (prefix := directory_prefix(folders, place.parent, follow)) is not None:
            return prefix + place.name
    return None


def file_at(folders: Iterable[Folder], path: str) -> Path | None:
    """The file of a workspace path; None if no folder has that name."""
    places = ((folder.root, folder.relative(path)) for folder in folders)
    return next((root / relative for root, relative in places if relative is not None), None)
