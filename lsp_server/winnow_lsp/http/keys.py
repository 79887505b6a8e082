"""The users of a team's server: a file with a key for each, read again whenever it changes."""

from __future__ import annotations

import hmac
import logging
import os
import re
import stat
from pathlib import Path

_log = logging.getLogger(__name__)
_LINE = re.compile(r"(?P<user>\S+)\s+(?P<key>\S+)")
_SHORTEST = 16
"""Characters of a key: fewer could be guessed."""


class KeyFile:
    """Lines of a user's name and key. Empty lines, and those that begin with `#`, do not count."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raises ValueError if others can read it, or a line is no name and key."""
        self._path = path
        self.problem: str | None = None
        self._seen, self._keys = self._read()

    def user(self, key: str) -> str | None:
        """Whose key this is; nobody's while the file has a `problem`.

        Every key is compared, so that the time does not tell which one came close.
        """
        self._refresh()
        found = [name for name, known in self._keys.items() if hmac.compare_digest(known.encode(), key.encode())]
        return found[0] if found else None

    def _refresh(self) -> None:
        """Read the file again if it changed. One that is unsound now has no keys: some may have been removed."""
        try:
            if self.problem or self._changed():
                self._seen, self._keys = self._read()
                self.problem = None
        except ValueError as error:
            if str(error) != self.problem:
                _log.error("no key counts: %s", error)
            self._keys, self.problem = {}, str(error)

    def _changed(self) -> bool:
        try:
            return _stamp(self._path) != self._seen
        except OSError:
            return True

    def _read(self) -> tuple[tuple[int, ...], dict[str, str]]:
        try:
            seen, text = _stamp(self._path), self._path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"the keys in {self._path} cannot be read: {error}") from error
        if os.name == "posix" and seen[-1] & (stat.S_IRWXG | stat.S_IRWXO):
            raise ValueError(f"others can read the keys in {self._path}: chmod 600 {self._path}")
        return seen, _keys(self._path, text)


def _stamp(path: Path) -> tuple[int, ...]:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode


def _keys(path: Path, text: str) -> dict[str, str]:
    keys: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"{path}, line {number}: a line is a user's name, a space, and the key")
        if len(match["key"]) < _SHORTEST:
            raise ValueError(f"{path}, line {number}: a key has {_SHORTEST} characters at least")
        if match["user"] in keys or match["key"] in keys.values():
            raise ValueError(f"{path}, line {number}: the name or the key is there already")
        keys[match["user"]] = match["key"]
    if not keys:
        raise ValueError(f"{path} has no key: write a user's name, a space, and a key on a line")
    return keys
