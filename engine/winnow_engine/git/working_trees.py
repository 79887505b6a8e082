"""Working trees on disk: which file of ignore rules git reads there, which files it tracks, which are copies."""

from __future__ import annotations

import os
import re
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from winnow_engine.errors import GitError
from winnow_engine.git.program import Git
from winnow_engine.git.repository import check_readable, directories, read_or_empty
from winnow_engine.platform import home, is_file

_QUICK_S = 5.0
_ABOUT_IGNORING = re.compile(rb"^.*(?:excludesfile|ignorecase|\[include).*$", re.IGNORECASE | re.MULTILINE)
_NAMES_FILE = re.compile(rb"excludesfile|\[include", re.IGNORECASE)
_WORKTREE = re.compile(r"^[^\S\n]*worktree[^\S\n]*=[^\S\n]*(?P<path>\S.*)$", re.MULTILINE)


def is_repository(folder: Path) -> bool:
    """True for the top of a working tree."""
    try:
        return (folder / ".git").exists() and (directories(folder).own / "HEAD").exists()
    except (OSError, ValueError):  # `.git` names no path
        return False


@dataclass(frozen=True, slots=True)
class IgnoreSettings:
    """What git's configuration says of ignore rules: a file with more of them, and True if letters match in any case.

    `own` are lines of the repository's own configuration that may say so.
    """

    excludes: Path
    any_case: bool
    own: tuple[bytes, ...]


def ignore_settings(top: Path, around: IgnoreSettings | None = None) -> IgnoreSettings:
    """The settings for a working tree; those `around` it, without asking git, if it has the same lines and no file."""
    configs = directories(top).shared / "config", directories(top).own / "config.worktree"
    own = tuple(line for config in configs for line in _ABOUT_IGNORING.findall(read_or_empty(config)))
    if around is not None and own == around.own and not any(map(_NAMES_FILE.search, own)):
        return around
    usual = Path(os.environ.get("XDG_CONFIG_HOME") or (home() or Path("/")) / ".config", "git", "ignore")
    names = _configuration(top, "--name-only", "--get-regexp", r"^core\.(excludesfile|ignorecase)$")
    named = _configuration(top, "--type=path", "--get", "core.excludesFile") if b"excludesfile" in names else b""
    excludes = top / (os.fsdecode(named).removesuffix("\0") if named else usual)
    any_case = b"ignorecase" in names and _configuration(top, "--type=bool", "--get", "core.ignoreCase") == b"true\0"
    return IgnoreSettings(excludes.resolve(), any_case, own)  # often a link into a folder of settings


def _configuration(top: Path, *question: str) -> bytes:
    """What the repository's, the user's and the system's configuration answer; if it is damaged, the latter two."""
    for place in (top, Path(top.anchor)):
        try:
            check_readable(place)
            status, output, _ = Git(place).outcome("config", "-z", *question, timeout_s=_QUICK_S)
        except GitError:
            continue
        if status in (0, 1):
            return output
    return b""


@dataclass(frozen=True)
class TrackedFiles:
    """The files of a working tree's index when it is first asked for one. Ignore rules do not count for them."""

    top: Path
    any_case: bool

    def holds(self, path: str) -> bool:
        """True for a tracked file or submodule, or a folder with one, by its absolute path."""
        name, paths = os.fsencode(path[len(str(self.top).rstrip("/")) + 1 :]), self._paths
        name = name.lower() if self.any_case else name
        at, below = bisect_left(paths, name), bisect_left(paths, name + b"/")
        return paths[at : at + 1] == (name,) or any(one.startswith(name + b"/") for one in paths[below : below + 1])

    @cached_property
    def _paths(self) -> tuple[bytes, ...]:
        key, stamp = (self.top, self.any_case), _stamp(directories(self.top).own / "index")
        known = _LAST_TRACKED.get(key)
        if known is None or known[0] != stamp:
            _LAST_TRACKED.pop(key, None)
            known = _LAST_TRACKED[key] = stamp, _tracked(*key)
            for oldest in list(_LAST_TRACKED)[:-_MOST_TRACKED]:
                _LAST_TRACKED.pop(oldest, None)
        return known[1]


_MOST_TRACKED = 1_024  # repositories, as in a checkout of Android
_LAST_TRACKED: dict[tuple[Path, bool], tuple[tuple[int, int], tuple[bytes, ...]]] = {}  # with the stamp of the index


def _tracked(top: Path, any_case: bool) -> tuple[bytes, ...]:
    try:
        check_readable(top)
        names = Git(top).fields("ls-files", "-z", timeout_s=_QUICK_S)
    except GitError:
        return ()
    return tuple(sorted({name.lower() if any_case else name for name in names}))


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def counted_instead(folder: Path, root: Path) -> Path | None:
    """The working tree that counts instead of a further one of its repository: the one around `root`, or the first."""
    found = directories(folder)
    shared, linked = _real(found.shared), _real(found.own)
    if shared == linked and linked.parent.name == "worktrees":  # without what names the shared one
        shared = linked.parent.parent
    if shared == linked or not is_file(shared / "HEAD"):
        return None
    trees = [folder, *_linked(shared)]
    own = _own_tree(shared)
    around = [tree for tree in (own, *trees) if tree is not None and root.is_relative_to(tree)]
    inside = sorted(tree for tree in trees if tree.is_relative_to(root))
    head = read_or_empty(shared / "HEAD")
    default = [tree for tree in inside if read_or_empty(directories(tree).own / "HEAD") == head]
    owned = [own] if own is not None and own.is_relative_to(root) else []
    counted = (*around, *owned, *default, *inside)[0]
    return None if counted == folder else counted


def _own_tree(shared: Path) -> Path | None:
    """The working tree that is no linked one; a submodule's is named in its configuration."""
    if match := _WORKTREE.search(os.fsdecode(read_or_empty(shared / "config"))):
        return _real(shared / match["path"].rstrip())
    return shared.parent if shared.name == ".git" else None


def _linked(shared: Path) -> list[Path]:
    named = ((one, os.fsdecode(read_or_empty(one / "gitdir")).strip()) for one in (shared / "worktrees").glob("*"))
    trees = (_real((one / text).parent) for one, text in named if text)
    return [tree for tree in trees if is_file(tree / ".git")]


def _real(path: Path) -> Path:
    """The path without links, as it is if it is none or they lead in a circle."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:
        return path
