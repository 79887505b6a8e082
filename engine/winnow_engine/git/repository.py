"""A repository as seen from one of its folders: its own directories, its state, its revisions."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from winnow_engine.core import Cancellation
from winnow_engine.errors import GitError, NotARepositoryError, RevisionError
from winnow_engine.git.program import Git, failure
from winnow_engine.platform import is_file, read_regular
from winnow_engine.untrusted import printable

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


def top_above(folder: Path) -> Path | None:
    """The nearest folder with a `.git`, from this one upwards. Starts no program, so it is quick, and may be wrong."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


def index_of_hook(folder: Path) -> Path | None:
    """The index that `git commit -a` and the like name for hooks, if this process is one of the folder's tree."""
    named = os.environ.get("GIT_INDEX_FILE")
    try:
        here = Path.cwd()
    except OSError:
        return None
    own = _own_directory(folder.resolve())
    if not named or own is None or own != _own_directory(here):
        return None
    index = here / named
    return index if is_file(index) and index.resolve() != own / "index" else None


def _own_directory(folder: Path) -> Path | None:
    top = top_above(folder)
    return None if top is None else directories(top).own.resolve()


def check_readable(folder: Path) -> None:
    """Raise GitError if git would wait for a writer of a FIFO or device among the files that it reads first."""
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
    return read_or_empty(path).decode("utf-8", "surrogateescape").partition("\n")[0].strip()


def read_or_empty(path: Path, limit: int = 100_000) -> bytes:
    """The first `limit` bytes of a regular file; none if it cannot be read."""
    try:
        return read_regular(path, limit)
    except OSError:
        return b""


_OBJECT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_EMPTY_TREES = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_SHALLOW_BYTES = 8 << 20
_QUICK_S = 10.0  # for what git does at once, unless a file that it reads never ends


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository. `prefix` is the folder within it, "" or ending in a slash; `index` the file of staged files.

    `shallow` has the commits at which a shallow clone ends: their parents are not in it.
    """

    git: Git
    prefix: str
    bare: bool
    shallow: frozenset[str]
    object_format: str
    index: Path

    @property
    def empty_tree(self) -> str:
        """The object id of a tree without files."""
        return _EMPTY_TREES[self.object_format]

    @property
    def top(self) -> Path:
        """The folder that holds the whole working tree."""
        return self.git.directory.joinpath(*[".."] * len(PurePosixPath(self.prefix).parts)).resolve()

    def head(self) -> str | None:
        """The commit that is checked out; None before the first commit."""
        return self._object("HEAD^{commit}")

    def commit(self, revision: str) -> str:
        """The object id of the commit that a revision names. RevisionError if there is none."""
        named = None if _is_no_revision(revision) else self._object(revision)  # `:/text^{commit}` is another text
        found = named and self._object(f"{named}^{{commit}}")
        if found:
            return found
        shown = printable(revision)
        if revision in ("HEAD", "@"):
            raise RevisionError("there is no commit yet: commit first, or ask about what is `staged`")
        hint = " (this clone is shallow: `git fetch --unshallow` gets the rest)" if self.shallow else ""
        raise RevisionError(f"no commit is called {shown!r}: name a branch, a tag or a commit{hint}")

    def merge_base(self, ours: str, theirs: str) -> str:
        """The best common ancestor of two commits. RevisionError if there is none."""
        status, output, complaint = self.git.outcome("merge-base", "--", ours, theirs)
        if status > 1:
            raise failure(self.git.directory, ("merge-base",), complaint)
        found = output.decode().split("\n")[0]
        if found:
            return found
        hint = ": this clone is shallow, `git fetch --unshallow` gets the rest" if self.shallow else ""
        raise RevisionError(f"{ours[:10]} and {theirs[:10]} have no common ancestor{hint}")

    def branch(self, name: str = "HEAD") -> str | None:
        """The full name of the branch that a name stands for; None if it stands for a commit or nothing."""
        status, output, _ = self.git.outcome("symbolic-ref", "--quiet", name)
        return None if status else output.decode("utf-8", "surrogateescape").rstrip("\n")

    def holds_commit(self, name: str) -> bool:
        """True if a full name of a branch is one of a commit."""
        return self._object(f"{name}^{{commit}}") is not None

    def _object(self, name: str) -> str | None:
        command = ("rev-parse", "--verify", "--quiet", "--end-of-options", name)
        status, output, complaint = self.git.outcome(*command, timeout_s=_QUICK_S)
        found = output.decode("ascii", "replace").strip()
        if not status and _OBJECT.fullmatch(found):
            return found
        if "dubious" in complaint or "not a git repository" in complaint:
            raise failure(self.git.directory, ("rev-parse",), complaint)
        return None


def open_repository(folder: Path, cancellation: Cancellation | None = None) -> Repository:
    """The repository that a folder lies in.

    Raises GitMissingError, NotARepositoryError, UntrustedRepositoryError, and GitError for what else git complains
    about, such as a damaged configuration. A FIFO or a device among git's own files is such an error at once; in
    other places that git reads, such as a file that the configuration includes, it is one after 10 s.
    """
    check_readable(folder.resolve())
    git = Git(folder, cancellation or Cancellation(), index_of_hook(folder))
    questions = ("--is-bare-repository", "--is-inside-work-tree", "--show-object-format", "--git-path", "shallow")
    output = git.run("rev-parse", *questions, "--git-path", "index", "--show-prefix", timeout_s=_QUICK_S)
    bare, inside, object_format, shallow, index, prefix = output.decode("utf-8", "surrogateescape").split("\n", 5)
    if bare != "true" and inside != "true":
        raise NotARepositoryError(f"{folder} is no part of a working tree: name the folder that holds the code")
    if object_format not in _EMPTY_TREES:
        raise GitError(f"the repository's objects are named by {object_format}, which Winnow does not know")
    ends = frozenset(read_or_empty(folder / shallow, _SHALLOW_BYTES).decode("ascii", "replace").split())
    return Repository(git, prefix.removesuffix("\n"), bare == "true", ends, object_format, folder / index)


def _is_no_revision(text: str) -> bool:
    """True for text that is no revision, and may be an option, several revisions, or break git's output."""
    return not text.strip() or text.startswith(("-", "^")) or not text.isprintable()
