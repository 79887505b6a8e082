"""The root folders that a client has open, named apart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from winnow_engine.index.workspace import Folder


def named_folders(names: Mapping[Path, str]) -> Iterator[Folder]:
    """The folders with names that differ; a single folder has none."""
    taken = {""}
    for root, name in names.items():
        name = name.replace("/", "-") if len(names) > 1 else ""
        while name in taken and len(names) > 1:
            name += "'"
        taken.add(name)
        yield Folder(root, name)
