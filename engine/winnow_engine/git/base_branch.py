"""Finds the branch that the current one is measured against."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from winnow_engine.errors import RevisionError
from winnow_engine.git.repository import Repository

_USUAL = ("main", "master", "trunk", "develop")
_USUAL_REMOTES = ("origin", "upstream")
_SETTINGS = r"^(remote\..*\.(url|fetch)|branch\..*\.remote|init\.defaultbranch|clone\.defaultremotename)$"
_REMOTE = re.compile(r"remote\.(?P<name>.+)\.(?:url|fetch)", re.DOTALL)


def base_branch(repository: Repository) -> str:
    """The full name of the branch that the current one follows, unless that is its own copy on a remote.

    Else it is the default branch of a remote, of the one that the current branch follows first, or a branch of a usual
    name. A default branch without an upstream is its own base. RevisionError if there is none.
    """
    current = repository.branch()
    for name in _candidates(repository, current):
        if repository.holds_commit(name):
            return name
    raise RevisionError("no branch to compare with was found: name one, as in `main...HEAD`")


def _candidates(repository: Repository, current: str | None) -> Iterator[str]:
    settings = _settings(repository)
    followed, called_there = _followed(repository, current)
    own = (current or "").removeprefix("refs/heads/")
    if followed and not (followed.startswith("refs/remotes/") and called_there == current):
        yield followed
    remotes = _remotes(settings, own)
    defaults = (repository.branch(f"refs/remotes/{remote}/HEAD") for remote in remotes)
    yield from (default for default in defaults if default)
    usual = dict.fromkeys((*_USUAL, settings.get("init.defaultbranch", "main")))
    places = [*(f"remotes/{remote}" for remote in remotes), "heads"]
    named = [f"refs/{place}/{name}" for name in usual for place in places]
    yield from (name for name in (*named, followed) if name and name != current)
    yield from (name for name in named if name == current)


def _followed(repository: Repository, branch: str | None) -> tuple[str, str]:
    """The upstream of a branch, which may be gone, and what its remote calls it; "" for both if there is none."""
    if branch is None:
        return "", ""
    output = repository.git.run("for-each-ref", "--format=%(upstream) %(upstream:remoteref)", branch)
    followed, _, called_there = output.decode("utf-8", "surrogateescape").strip().partition(" ")
    return followed, called_there


def _settings(repository: Repository) -> Mapping[str, str]:
    """The values that name remotes and branches; a key without a value has an empty one."""
    output = repository.git.outcome("config", "-z", "--get-regexp", _SETTINGS)[1]
    fields = output.decode("utf-8", "surrogateescape").split("\0")[:-1]
    return {key: value for key, _, value in (field.partition("\n") for field in fields)}


def _remotes(settings: Mapping[str, str], branch: str) -> list[str]:
    first = (settings.get(f"branch.{branch}.remote", ""), settings.get("clone.defaultremotename", ""), *_USUAL_REMOTES)
    named = (match["name"] for key in settings if (match := _REMOTE.fullmatch(key)))
    return list(dict.fromkeys(name for name in (*first, *named) if name))
