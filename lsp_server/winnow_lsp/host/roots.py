"""The root folders that a client has open: named apart, and which file is where in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from winnow_engine.core import Folder
from winnow_lsp.host.uris import below


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
    """True for the user's home or the whole disk, where some clients start servers when no folder is open."""
    resolved = folder.resolve()
    return resolved in (Path.home().resolve(), Path(resolved.anchor))


def workspace_path(folders: Iterable[Folder], file: Path) -> str | None:
    """The workspace path of a file, in the innermost of the folders that it lies in; None if it is in none."""
    inside = [(folder, place) for folder in folders if (place := below(file, folder.root)) is not None]
    if not inside:
        return None
    folder, relative = min(inside, key=lambda found: len(found[1].parts))
    return folder.workspace_path(relative.as_posix())


def file_at(folders: Iterable[Folder], path: str) -> Path | None:
    """The file of a workspace path; None if no folder has that name."""
    for folder in folders:
        relative = folder.relative(path)
        if relative is not None:
            return folder.root / relative
    return None
