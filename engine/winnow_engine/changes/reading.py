"""Reads the changes that words name. The working tree is as the workspace has read it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from winnow_engine.changes.changed import ChangedFile, Changes
from winnow_engine.changes.working_tree import working_changes
from winnow_engine.core import Cancellation, Folder
from winnow_engine.errors import NotARepositoryError, PositionError, RevisionError
from winnow_engine.git.base_branch import base_branch
from winnow_engine.git.objects import MOST_BLOB_BYTES, blobs, commits
from winnow_engine.git.repository import Repository, open_repository, top_above
from winnow_engine.git.trees import FileChange, staged_changes, tree_changes
from winnow_engine.index.file_rules import unreadable_content, unwanted_content
from winnow_engine.index.name_rules import reason_against_path
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.question import BRANCH, COMMIT, STAGED, WORKING
from winnow_engine.untrusted import printable


@dataclass(frozen=True, slots=True)
class Revisions:
    """Two states: the id of a commit or of the empty tree; and a commit's id, WORKING or STAGED."""

    before: str
    after: str
    title: str


def revisions_of(repository: Repository, asked: str) -> Revisions:
    """States named by `working` or "", `staged`, `branch`, `commit`, a revision, `A..B` or `A...B`.

    `A...B` begins where both parted. A side left out is HEAD. Raises RevisionError.
    """
    asked = asked.strip() or WORKING
    if asked in (WORKING, STAGED, BRANCH) and repository.bare:
        raise RevisionError("this repository is bare: name a commit, a range, or the folder of a working tree")
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
    what = "what is staged" if asked == STAGED else "the working tree"
    if head is None:
        return Revisions(repository.empty_tree, asked, f"{what}, before the first commit")
    return Revisions(head, asked, f"{what} against HEAD ({head[:10]})")


def _branch(repository: Repository) -> Revisions:
    base = base_branch(repository)
    name = base.removeprefix("refs/heads/").removeprefix("refs/remotes/")
    parted = repository.merge_base(repository.commit("HEAD"), repository.commit(base))
    return Revisions(parted, WORKING, f"this branch since it left {name} ({parted[:10]})")


def _range(repository: Repository, first: str, last: str, *, since_parted: bool) -> Revisions:
    before, after = (repository.commit(name.strip() or "HEAD") for name in (first, last))
    if since_parted:
        before = repository.merge_base(before, after)
    return Revisions(before, after, f"from {before[:10]} to {after[:10]}")


def _one_commit(repository: Repository, revision: str) -> Revisions:
    (commit,) = commits(repository.git, [repository.commit(revision)])
    shown = commit.id[:10]
    title = f"commit {shown}, {commit.subject!r}"
    if commit.id in repository.shallow:
        raise RevisionError(f"the commit before {shown} is not in this shallow clone: `git fetch --deepen=1` gets it")
    if not commit.parents:
        return Revisions(repository.empty_tree, commit.id, title)
    return Revisions(commit.parents[0], commit.id, title)


def read_changes(sources: Sources, workspace: Workspace, asked: str, cancellation: Cancellation) -> Changes:
    """Changes in the repositories of the workspace's folders, by the words of `revisions_of`.

    Folders in which there is no such state are left out. If there is none in any, the first folder's GitError is
    raised.
    """
    files, titles = list[ChangedFile](), dict[str, None]()
    failures: list[NotARepositoryError | RevisionError] = []
    by_root = {folder.root.resolve(): folder for folder in sources.folders}
    roots = {root: top_above(root) for root in by_root}
    for folder in sorted(sources.folders, key=lambda folder: folder.name):
        try:
            repository = open_repository(folder.root, cancellation)
            revisions = revisions_of(repository, asked)
        except (NotARepositoryError, RevisionError) as error:
            failures.append(error)
            continue
        titles[revisions.title] = None
        root = folder.root.resolve()
        beside = [one for one, top in roots.items() if top == roots[root]]
        found = _files(repository, folder, revisions, workspace, roots)
        own = (file for file in found if not _is_anothers(file, folder, root, beside))
        files += [_from_its_folder(file, folder, root, by_root) for file in own]
    if not titles:
        raise failures[0]
    return Changes("; ".join(titles), tuple(sorted(files, key=lambda file: file.path)))


def folders_in(folders: Iterable[Folder], top: Path) -> tuple[Folder, ...]:
    """The folders of the repository at `top`, or the one that it is within a folder. PositionError if there is none."""
    top, roots = top.resolve(), {folder: folder.root.resolve() for folder in folders}
    if own := tuple(folder for folder, root in roots.items() if top_above(root) == top):
        return own
    for folder, root in roots.items():
        if top.is_relative_to(root):
            return (Folder(top, folder.workspace_path(top.relative_to(root).as_posix())),)
    raise PositionError(f"the repository {top} is outside the workspace: open its folder first")


def _is_anothers(file: ChangedFile, folder: Folder, root: Path, beside: Collection[Path]) -> bool:
    """True if of the folders of its repository, at `beside`, the innermost that holds a file is not this, at `root`."""
    place = Path(os.path.normpath(root / (folder.relative(file.path) or "")))
    return _innermost(place, beside) not in (root, None)


def _from_its_folder(file: ChangedFile, folder: Folder, root: Path, folders: Mapping[Path, Folder]) -> ChangedFile:
    """The file with the path before the change that the innermost folder gives it: it may come from another one."""
    before = folder.relative(file.before_path or "") or ""
    place = Path(os.path.normpath(root / before))
    inner = _innermost(place, folders) if before.startswith("../") else None
    if inner is None:
        return file
    return replace(file, before_path=folders[inner].workspace_path(place.relative_to(inner).as_posix()))


def _innermost(place: Path, roots: Iterable[Path]) -> Path | None:
    """The innermost of some folders that holds a place."""
    return max(filter(place.is_relative_to, roots), key=lambda root: len(root.parts), default=None)


def _files(
    repository: Repository, folder: Folder, revisions: Revisions, workspace: Workspace, roots: Collection[Path]
) -> Iterator[ChangedFile]:
    if revisions.after == WORKING:
        yield from working_changes(repository, folder, revisions.before, workspace, roots)
        return
    before, after, prefix = revisions.before, revisions.after, repository.prefix
    changed = staged_changes(repository, before) if after == STAGED else tree_changes(repository, before, after)
    inside = [one for one in changed if any((path or "").startswith(prefix) for path in (one.before, one.after))]
    sides = ((one.before_blob, one.after_blob) for one in inside if not _why_unread(one))
    contents = blobs(repository.git, (blob for pair in sides for blob in pair if blob is not None))
    yield from (replace(_read(change, folder, prefix, contents), commit=before) for change in inside)


def _read(change: FileChange, folder: Folder, prefix: str, contents: Mapping[str, bytes]) -> ChangedFile:
    file = ChangedFile.of(change, contents, lambda path: _path(path, folder, prefix), _why_unread(change))
    sides = [text for path, text in ((change.before, file.before), (change.after, file.after)) if path is not None]
    unread = file.unread or why_no_code(sides)
    return replace(file, before=None, after=None, unread=unread) if unread else file


def _path(path: str, folder: Folder, prefix: str) -> str:
    """The workspace path of a file, given from the repository's top; also of one outside the folder."""
    relative = path.removeprefix(prefix) if path.startswith(prefix) else os.path.relpath(f"/{path}", f"/{prefix}")
    return printable(folder.workspace_path(relative))


def _why_unread(change: FileChange) -> str:
    """Reason not to read a file, by its kind and name; "" if there is none."""
    if "160000" in (change.before_mode, change.after_mode):
        return "submodule"
    return (reason_against_path(change.path) or "") if change.regular else "link"


def why_no_code(sides: Sequence[bytes | None]) -> str:
    """Reason not to show contents: binary, generated, minified, too large or absent (None); "" if there is none."""
    for data in sides:
        if data is None:
            return f"larger than {MOST_BLOB_BYTES:,} bytes, or not in this clone"
        if data.strip() and (reason := unreadable_content(data) or unwanted_content(data)):
            return reason
    return ""
