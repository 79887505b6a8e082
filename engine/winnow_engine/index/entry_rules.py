"""Rules on an entry of a directory: its name, kind and size. `content_rules.py` has those on content."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from pathspec import GitIgnoreSpec

from winnow_engine.config import FileRules
from winnow_engine.index import name_rules
from winnow_engine.index.file_text import is_notebook
from winnow_engine.index.ignore import IgnoreRules, Pattern, deciding, patterns
from winnow_engine.untrusted import printable

_SPECIAL = (
    (stat.S_ISFIFO, "FIFO"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)
_NOTEBOOK = 20  # times the size of other files


class EntryRules:
    """Rules for the entries of one workspace, including the user's."""

    def __init__(self, root: Path, rules: FileRules) -> None:
        self._root, self._max_bytes = root, rules.max_bytes
        self._include = GitIgnoreSpec.from_lines(rules.include) if rules.include else None
        self._exclude = patterns(rules.exclude, root, "exclude")

    def users_pattern(self, path: str, directory: bool, rules: IgnoreRules) -> Pattern | None:
        """The user's strongest pattern that matches a path; `rules` are those of its directory."""
        return deciding(self._exclude + rules.winnow, path, directory)

    def reason_against(self, entry: os.DirEntry[str], own: Pattern | None, rules: IgnoreRules) -> str | None:
        """Reason why an entry is left out, or None. `own` is its `users_pattern`."""
        named = _reason_in_name(entry.name, entry.path, is_directory(entry), own, rules)
        if named is not None:
            return named
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            return unreadable(error)
        if stat.S_ISDIR(status.st_mode):
            return None
        return (
            self._reason_in_kind(entry.path, status.st_mode)
            or self._not_included(entry.path)
            or self.too_large(entry.name, status.st_size)
        )

    def reason_against_unsaved(self, path: Path, own: Pattern | None, rules: IgnoreRules) -> str | None:
        """Reason why a document that is not on disk is left out, or None."""
        return _reason_in_name(path.name, str(path), False, own, rules) or self._not_included(str(path))

    def most_bytes(self, name: str) -> int:
        """The size up to which a file is read. Of a notebook's, pictures are left out later."""
        return self._max_bytes * (_NOTEBOOK if is_notebook(name) else 1)

    def too_large(self, name: str, size: int) -> str | None:
        """Reason why a file of so many bytes is left out, or None."""
        most = self.most_bytes(name)
        return f"larger than {most:,} bytes ({size:,})" if size > most else None

    def _reason_in_kind(self, path: str, mode: int) -> str | None:
        if stat.S_ISLNK(mode):
            return self._link(path)
        return next((f"not a regular file: {name}" for is_it, name in _SPECIAL if is_it(mode)), None)

    def _link(self, path: str) -> str:
        """Reason for a link. Links are never followed: their target counts, or not, under its own path."""
        try:
            target = os.path.realpath(path, strict=True)
        except OSError as error:
            return f"broken symbolic link: {error.strerror}"
        if Path(target).is_dir():
            return "symbolic link to a directory"
        if not Path(target).is_relative_to(self._root):
            return "symbolic link out of the workspace"
        return f"symbolic link: {printable(relative_to(target, self._root))!r} counts under its own path"

    def _not_included(self, path: str) -> str | None:
        if self._include is None or self._include.match_file(relative_to(path, self._root)):
            return None
        return "matches none of the patterns to include"


def _reason_in_name(name: str, path: str, directory: bool, own: Pattern | None, rules: IgnoreRules) -> str | None:
    """Reason in the name of a file or directory, or None; `own` is the user's strongest pattern that matches it."""
    if printable(name) != name:
        return "its name has control characters or is not UTF-8"
    if own is not None:
        return _ignored_by(own)
    parent = path.rpartition("/")[0].rpartition("/")[2]
    return name_rules.reason_against(name, directory, parent) or _ignored_by(rules.ignoring(path, directory))


def _ignored_by(pattern: Pattern | None) -> str | None:
    return f"ignored by {pattern.quoted}" if pattern and pattern.ignores else None


def is_directory(entry: os.DirEntry[str]) -> bool:
    """True for a directory, but not for a link to one."""
    return entry.is_dir(follow_symlinks=False)


def relative_to(path: str, root: Path) -> str:
    """A path relative to the root above it."""
    return path[len(str(root)) :].lstrip("/")


def unreadable(error: OSError) -> str:
    """Reason for a file that cannot be read."""
    return f"unreadable: {error.strerror}"
