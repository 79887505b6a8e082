"""What the last commits changed."""

from __future__ import annotations

from winnow_engine.git.repository import Repository

_COMMITS = 100
_TIMEOUT_S = 5.0


def changed_lately(repository: Repository) -> list[str]:
    """The files that the last 100 commits changed, the latest first, by their paths below the repository's folder.

    Some may be gone by now. Paths that are not UTF-8 have surrogate escapes. Raises GitError.
    """
    if repository.head() is None:
        return []
    options = ("-z", "--name-only", "--format=", "--no-renames", "--diff-filter=d", "--relative", f"-{_COMMITS}")
    paths = repository.git.fields("log", *options, "HEAD", "--", timeout_s=_TIMEOUT_S)
    return list(dict.fromkeys(path.decode("utf-8", "surrogateescape") for path in paths if path))
