"""The two states that a change lies between, each a commit, the index, or the working tree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from winnow_engine.errors import RevisionError
from winnow_engine.git.base_branch import base_branch
from winnow_engine.git.objects import commits, existing
from winnow_engine.git.repository import Repository
from winnow_engine.question import WHEN

WORKING, STAGED, BRANCH, COMMIT = "working", "staged", "branch", "commit"
"""Words for uncommitted and staged changes, the current branch, and the last commit."""

_MENTION = re.compile(r"\s*@(?P<word>when|(?:changes|staged|branch|commit)(?::(?P<revision>[^\s:][^\s]*))?)(?=\s|$)")
_MEANING = {"changes": WORKING, "staged": STAGED, "branch": BRANCH, "commit": COMMIT, "when": WHEN}


class Uncommitted(Enum):
    """A state after a change that is no commit."""

    INDEX = "index"
    WORKING_TREE = "working tree"


@dataclass(frozen=True, slots=True)
class Revisions:
    """Two states: `before` is the id of a commit or of the empty tree, `after` a commit's id or one of `Uncommitted`.

    `revision` is what to call the commit before, "" if there is none.
    """

    before: str
    after: str | Uncommitted
    title: str
    revision: str


def revisions_of(repository: Repository, asked: str) -> Revisions:
    """States named by `working` or "", `staged`, `branch`, `commit`, a revision, `A..B` or `A...B`.

    `A...B` begins where both parted. A side left out is HEAD. Raises RevisionError.
    """
    asked = asked.strip() or WORKING
    if asked in (WORKING, STAGED, BRANCH) and repository.bare:
        raise RevisionError(f"this repository is bare, so nothing is {asked} in it: name a commit or a range")
    if asked in (WORKING, STAGED):
        return _uncommitted(repository, asked)
    if asked == BRANCH:
        return _branch(repository)
    for dots in ("...", ".."):
        if dots in asked:
            return _range(repository, *asked.split(dots, 1), since_parted=dots == "...")
    return _one_commit(repository, "HEAD" if asked == COMMIT else asked)


def _uncommitted(repository: Repository, asked: str) -> Revisions:
    head = repository.head()
    after = Uncommitted.INDEX if asked == STAGED else Uncommitted.WORKING_TREE
    what = "what is staged" if asked == STAGED else "the working tree"
    if head is None:
        return Revisions(repository.empty_tree, after, f"{what}, before the first commit", "")
    return Revisions(head, after, f"{what} against HEAD ({head[:10]})", "HEAD")


def _branch(repository: Repository) -> Revisions:
    base = base_branch(repository)
    name = base.removeprefix("refs/heads/").removeprefix("refs/remotes/")
    parted = repository.merge_base(repository.commit("HEAD"), repository.commit(base))
    return Revisions(parted, Uncommitted.WORKING_TREE, f"this branch since it left {name} ({parted[:10]})", parted[:10])


def _range(repository: Repository, first: str, last: str, *, since_parted: bool) -> Revisions:
    before, after = (repository.commit(name.strip() or "HEAD") for name in (first, last))
    if since_parted:
        before = repository.merge_base(before, after)
    return Revisions(before, after, f"from {before[:10]} to {after[:10]}", before[:10])


def _one_commit(repository: Repository, revision: str) -> Revisions:
    """A commit against its first parent."""
    (commit,) = commits(repository.git, [repository.commit(revision)])
    title = f"commit {commit.id[:10]}, {commit.subject!r}"
    if not commit.parents:
        return Revisions(repository.empty_tree, commit.id, title, "")
    parent = commit.parents[0]
    if not existing(repository.git, [parent]):
        raise RevisionError(
            f"the commit before {commit.id[:10]} is not in this shallow clone: `git fetch --deepen=1` gets it"
        )
    return Revisions(parent, commit.id, title, parent[:10])


def without_mention(text: str) -> tuple[str, str | None]:
    """The words of a question after `@changes`, `@staged`, `@branch`, `@commit`, `@changes:A..B` or `@when`, and what
    that means; None if it begins with none of these. Within a sentence `@commit` is a decorator or the like.
    """
    match = _MENTION.match(text)
    if match is None:
        return text, None
    return text[match.end() :].strip(), match["revision"] or _MEANING[match["word"]]
