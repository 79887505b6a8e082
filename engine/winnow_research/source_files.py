"""Files of a source tree with their texts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from winnow_engine.config import FileRules
from winnow_engine.index.files import Skipped, look


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that counts: its path relative to the root, with forward slashes, and its text."""

    path: str
    data: bytes


def scan(root: Path, rules: FileRules | None = None, skipped: Skipped | None = None) -> Iterator[SourceFile]:
    """Files that count, in path order. Raises WorkspaceError if `root` is not a readable directory."""
    for path, content in look(root, rules, skipped):
        yield SourceFile(path, content.read())
