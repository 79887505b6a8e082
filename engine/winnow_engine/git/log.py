"""What commits say of themselves, many at a time: their messages, authors, paths, and the lines they changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from winnow_engine.git.program import Git
from winnow_engine.git.repository import Repository

# An empty field begins a commit: no path is empty, and the fields of a commit before its paths are counted.
_FORMAT = "%x00%H%x00%ct%x00%an%x00%B%x00"
_LOGGED = ("--stdin", "-r", "-z", "--root", "--always", "--encoding=UTF-8", "--no-renames")
_PATCHES = ("--stdin", "-p", "-U0", "--root", "--always", "-M", "-l200", "--no-color", "--format=%H")


@dataclass(frozen=True, slots=True)
class Logged:
    """A commit's id, time in seconds since the epoch, author, message, and the paths it touched, from the top.

    A merge and a commit at which a shallow clone ends have no paths. What is not UTF-8 has U+FFFD.
    """

    id: str
    committed_at: int
    author: str
    message: str
    paths: tuple[str, ...]


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


def logged(git: Git, ids: Sequence[str], ends: frozenset[str] = frozenset()) -> Iterator[Logged]:
    """These commits, in order. Raises GitError."""
    fields = git.fields("diff-tree", *_LOGGED, "--name-only", f"--format={_FORMAT}", stdin=_lines(ids))
    at = 0
    while at + 5 < len(fields):
        _, name, time, author, message, _, *_ = fields[at : at + 6]
        following = _next(fields, at + 6)
        paths = fields[at + 6 : following]
        commit = name.decode("ascii")
        yield Logged(
            commit,
            int(time),
            author.decode("utf-8", "replace"),
            message.decode("utf-8", "replace"),
            () if commit in ends else tuple(path.decode("utf-8", "replace").removeprefix("\n") for path in paths),
        )
        at = following


def patches(git: Git, ids: Sequence[str]) -> bytes:
    """What these commits changed, as git prints it: each begins with a line that is its id. Raises GitError.

    Hunks have no lines around them. Files that are not code (`attributes`), or too large, have none.
    """
    return git.run("diff-tree", *_PATCHES, stdin=_lines(ids))


def _next(fields: Sequence[bytes], at: int) -> int:
    """Where the next commit begins."""
    while at < len(fields) and fields[at]:
        at += 1
    return at


def _lines(ids: Iterable[str]) -> bytes:
    return "".join(f"{one}\n" for one in ids).encode()
