"""The paths of `file:` URIs, as editors write them, and where they lie below a root."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

from winnow_engine.errors import PositionError
from winnow_engine.platform import path_of_uri


def file_path(uri: str) -> Path:
    """The path of a `file:` URI. Raises PositionError for any other."""
    try:
        parts = urlsplit(uri)
        path = os.fsdecode(unquote_to_bytes(parts.path))
    except ValueError as error:  # half a bracket, half a surrogate pair
        raise PositionError(f"{uri!r} is not a URI: save the document inside the workspace first") from error
    if parts.scheme != "file" or not path.startswith("/") or "\0" in path:
        raise PositionError(f"{uri} is not a file: save it inside the workspace first")
    return Path(os.path.normpath(path_of_uri(path)))


def below(file: Path, root: Path) -> Path | None:
    """The file relative to the root, by name or else with links resolved; None if it is not below the root."""
    if not file.is_relative_to(root):
        try:
            file, root = file.resolve(), root.resolve()
        except (OSError, RuntimeError):  # a circle of links
            return None
    return file.relative_to(root) if file.is_relative_to(root) and file != root else None
