"""The folders of git's own files, checked for files on which git would wait."""

from __future__ import annotations

import stat
from dataclasses import dataclass
from pathlib import Path

from winnow_engine.errors import GitError
from winnow_engine.platform import read_regular

# What git opens before it does anything.
_READ_FIRST = (
    *("HEAD", "commondir", "config", "config.worktree", "index", "packed-refs", "shallow"),
    *("info/attributes", "info/exclude", "info/grafts", "objects/info/alternates"),
)
# What it opens in a working tree, besides the attributes of folders below the one that is asked about.
_READ_IN_TREE = (".gitattributes", ".mailmap", "HEAD")


@dataclass(frozen=True, slots=True)
class Directories:
    """A working tree's own directory, and the one that it shares with other worktrees of its repository."""

    own: Path
    shared: Path


def directories(top: Path) -> Directories:
    """The directories of the working tree `top`: its `.git`, or what that names if it is a file."""
    git = top / ".git"
    own = top / _first_line(git).removeprefix("gitdir:").strip()
    return Directories(git, git) if own == top else Directories(own, own / (_first_line(own / "commondir") or "."))


def check_readable(folder: Path) -> None:
    """Raise GitError if git would wait for a writer before it could say what repository a folder lies in.

    It opens whatever lies at the paths it reads first, a FIFO or a device too.
    """
    for level in (folder, *folder.parents):
        found = directories(level)
        branch = _first_line(found.own / "HEAD").removeprefix("ref:").strip()
        paths = {place / name for place in (found.own, found.shared) for name in (*_READ_FIRST, branch)}
        paths |= {level / name for name in _READ_IN_TREE}
        waiting = next((path for path in sorted(paths) if _waits(path)), None)
        if waiting is not None:
            raise GitError(f"git cannot read {waiting}: it is a FIFO or a device; delete it, or restore the file")
        if (level / ".git").exists():
            return


def _waits(path: Path) -> bool:
    """True if opening a path may never return. A socket is refused at once."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # not there, or no path
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISBLK(mode)


def _first_line(path: Path) -> str:
    """The first line of a small text file, empty if there is no such file."""
    try:
        return read_regular(path, 4096).decode("utf-8", "surrogateescape").partition("\n")[0].strip()
    except OSError:
        return ""
