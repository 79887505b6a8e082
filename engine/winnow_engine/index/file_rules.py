"""Rules on the name, kind, size and content of files. `name_rules.py` has those on names alone."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from pathspec import GitIgnoreSpec

from winnow_engine.config import FileRules
from winnow_engine.index import name_rules
from winnow_engine.index.file_text import is_notebook, is_utf8
from winnow_engine.index.ignore import IgnoreRules, Pattern, deciding, patterns
from winnow_engine.untrusted import printable

_HEAD_BYTES = 8192
_HEAD_LINES = 10
_LONGEST_LINE = 5_000

# Control characters that text does hold: backspace, tab, line ends, form feed, escape.
_TEXT_BYTES = bytes({8, 9, 10, 12, 13, 27, *range(32, 127), *range(128, 256)})
_MOST_CONTROLS = 0.1

COMMENT = re.compile(rb"\s*(?:#|//|/?\*|--|;|%|<!--|\(\*|\"\"\")")
_GENERATED = re.compile(
    rb"@generated\b"
    rb"|\bgenerated\b[^\n]{0,200}\bdo not (?:edit|modify|change)\b"
    rb"|\bthis (?:file|code|module) (?:is|was|has been) (?:auto-?|automatically )?generated\b"
    rb"|^\W*(?:auto-?|automatically )generated (?:by|from|with|file|code)\b",
    re.IGNORECASE,
)
# Files of OpenSSL, OpenSSH, PGP, PuTTY and age; of Google's service accounts; of kubectl.
_KEY = re.compile(
    rb"\s*(?:-----BEGIN [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----|PuTTY-User-Key-File-|(?:#[^\n]*\n)*AGE-SECRET-KEY-1"
    rb"|\{[^{}]*\"private_key\"\s*:\s*\"-----BEGIN|apiVersion:(?:[^\n]*\n)* {1,40}client-key-data:\s)"
)


def unreadable_content(data: bytes) -> str | None:
    """Reason why these bytes, a `file_text`, are not text, or None."""
    if not data.strip():
        return "empty"
    if b"\0" in data:
        return "binary: NUL byte"
    if not is_utf8(data):
        return "binary: text in no known encoding"
    head = data[:_HEAD_BYTES]
    if len(head.translate(None, _TEXT_BYTES)) > _MOST_CONTROLS * len(head):
        return "binary: mostly control characters"
    return None


def unwanted_content(data: bytes) -> str | None:
    """Reason why nobody asks about this text, or None: it is a key, or written by a program."""
    if _KEY.match(data[:_HEAD_BYTES]):
        return "secret: holds a private key"
    for comment in _head_comments(data):
        if mark := _GENERATED.search(comment):
            return f"generated: marked {mark.group().decode('utf-8', 'replace').strip()!r} in its head"
    longest = max(map(len, data.splitlines()))
    return f"minified: longest line {longest:,} columns" if longest > _LONGEST_LINE else None


def is_secret(path: str, data: bytes) -> bool:
    """True for a file whose name or text says that it holds passwords or keys, whatever else leaves it out."""
    folder, _, name = path.rpartition("/")
    reasons = name_rules.reason_against(name, False, folder.rpartition("/")[2]), unwanted_content(data)
    return any((reason or "").startswith("secret:") for reason in reasons)


def _head_comments(data: bytes) -> Iterator[bytes]:
    """Comment lines among the first ten, each joined with the next line, where its sentence may continue."""
    head = data[:_HEAD_BYTES].splitlines()[:_HEAD_LINES]
    for line, following in zip(head, [*head[1:], b""], strict=True):
        if COMMENT.match(line):
            yield line + b" " + following


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
        named = _reason_in_name(entry.path, is_directory(entry), own, rules)
        if named is not None:
            return named
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            return unreadable(error)
        if stat.S_ISDIR(status.st_mode):
            return None
        if stat.S_ISLNK(status.st_mode):
            return "symbolic link: what it leads to counts under its own path, if it is in the workspace"
        if not stat.S_ISREG(status.st_mode):
            return "not a regular file"
        return self._not_included(entry.path) or self.too_large(entry.name, status.st_size)

    def reason_in_name(self, path: str, is_dir: bool, own: Pattern | None, rules: IgnoreRules) -> str | None:
        """Reason in its path why an entry that need not be on disk is left out, or None."""
        return _reason_in_name(path, is_dir, own, rules) or (None if is_dir else self._not_included(path))

    def most_bytes(self, name: str) -> int:
        """The size up to which a file is read. Of a notebook's, pictures are left out later."""
        return self._max_bytes * (_NOTEBOOK if is_notebook(name) else 1)

    def too_large(self, name: str, size: int) -> str | None:
        """Reason why a file of so many bytes is left out, or None."""
        most = self.most_bytes(name)
        return f"larger than {most:,} bytes ({size:,})" if size > most else None

    def _not_included(self, path: str) -> str | None:
        if self._include is None or self._include.match_file(relative_to(path, self._root)):
            return None
        return "matches none of the patterns to include"


def _reason_in_name(path: str, directory: bool, own: Pattern | None, rules: IgnoreRules) -> str | None:
    """Reason in the name of a file or directory, or None; `own` is the user's strongest pattern that matches it."""
    folder, name = os.path.split(path)
    _, parent = os.path.split(folder)
    if printable(name) != name:
        return "its name has control characters or is not UTF-8"
    if own is not None:
        return _ignored_by(own)
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
