"""What commits say and do, many at a time: their messages and authors, the paths and the lines that they changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from winnow_engine.git.objects import seconds
from winnow_engine.git.program import Git
from winnow_engine.git.repository import Repository

_FIELDS = ("%H", "%ct", "%an", "%B")
_LOGGED = ("--stdin", "--no-walk=unsorted", "-z", "--encoding=UTF-8", "--no-color", "--no-patch")
_TOUCHED = ("--stdin", "-r", "-z", "--root", "--always", "--no-renames", "--name-only", "--format=%x00%H")
_PATCHES = ("--stdin", "-p", "-U0", "--root", "--always", "-M", "-l200", "--no-color", "--format=%H")


@dataclass(frozen=True, slots=True)
class Logged:
    """A commit's id, time in seconds since the epoch, author and message. What is not UTF-8 has U+FFFD."""

    id: str
    committed_at: int
    author: str
    message: str


@dataclass(frozen=True, slots=True)
class Lineage:
    """What tells one history from others on this machine: the repository's own folder, and where its history ends.

    `ends` are the commits of a shallow clone whose parents it lacks.
    """

    folder: str
    object_format: str
    ends: frozenset[str]

    @property
    def identity(self) -> str:
        """All of that in one string."""
        return "\0".join([self.folder, self.object_format, *sorted(self.ends)])


def lineage(repository: Repository) -> Lineage:
    """The lineage of a repository; its worktrees have their own. Raises GitError."""
    output = repository.git.run("rev-parse", "--absolute-git-dir", "--git-path", "shallow")
    folder, shallow = output.decode("utf-8", "surrogateescape").removesuffix("\n").rsplit("\n", 1)
    place = repository.git.directory / shallow
    ends = place.read_text("ascii", "replace").split() if repository.shallow and place.is_file() else []
    return Lineage(folder, repository.object_format, frozenset(ends))


def ancestry(git: Git, tip: str, without: Iterable[str], most: int) -> list[tuple[str, list[str]]]:
    """The newest `most` commits that `tip` has in its past, `tip` too, with their parents; each after all of these.

    What commits of `without` have in theirs is left out; such a one need not be there any longer. Raises GitError.
    """
    options = ("--topo-order", "--reverse", "--parents", "--ignore-missing", f"--max-count={most}", "--stdin")
    given = "".join([f"{tip}\n", *(f"^{one}\n" for one in without)])
    rows = (
        line.split(" ") for line in git.run("rev-list", *options, stdin=given.encode()).decode("ascii").splitlines()
    )
    return [(row[0], row[1:]) for row in rows]


def logged(git: Git, ids: Sequence[str]) -> Iterator[Logged]:
    """These commits, in order. Raises GitError."""
    # Every field ends with a NUL, the last of a commit with that of -z.
    fields = git.fields("log", *_LOGGED, f"--format={'%x00'.join(_FIELDS)}", stdin=_lines(ids)) if ids else []
    for name, time, author, message in zip(*(iter(fields),) * len(_FIELDS), strict=True):
        yield Logged(
            name.decode("ascii"), seconds(time), author.decode("utf-8", "replace"), message.decode("utf-8", "replace")
        )


def touched_paths(git: Git, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The paths that commits touched, from the top; none for a merge. What is not UTF-8 has U+FFFD. Raises GitError."""
    # An empty field begins a commit, as no path is empty.
    fields = iter(git.fields("diff-tree", *_TOUCHED, stdin=_lines(ids)) if ids else [])
    found: dict[str, list[str]] = {}
    paths: list[str] = []
    for field in fields:
        if field:
            paths.append(field.decode("utf-8", "replace").removeprefix("\n"))
        else:
            paths = found.setdefault(next(fields).decode("ascii"), [])
    return {name: tuple(some) for name, some in found.items()}


def patches(git: Git, ids: Sequence[str]) -> bytes:
    """What these commits changed, as git prints it: each begins with a line that is its id. Raises GitError.

    Hunks have no lines around them. Files that are not code (`attributes`), or too large, have none.
    """
    return git.run("diff-tree", *_PATCHES, stdin=_lines(ids)) if ids else b""


def _lines(ids: Iterable[str]) -> bytes:
    return "".join(f"{one}\n" for one in ids).encode()
