"""Reads the changes in the folders of a workspace. The working tree is what the workspace has read of it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from winnow_engine.changes.changed import ChangedFile, Changes
from winnow_engine.changes.revisions import Revisions, Uncommitted, revisions_of
from winnow_engine.changes.working_tree import working_changes
from winnow_engine.core import Cancellation, Folder
from winnow_engine.errors import NotARepositoryError, RevisionError
from winnow_engine.git.objects import MOST_BLOB_BYTES, blobs
from winnow_engine.git.repository import Repository, open_repository
from winnow_engine.git.trees import FileChange, staged_changes, tree_changes
from winnow_engine.index.content_rules import unreadable_content, unwanted_content
from winnow_engine.index.name_rules import reason_against_path
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.untrusted import printable


def read_changes(sources: Sources, workspace: Workspace, asked: str, cancellation: Cancellation) -> Changes:
    """Changes in the repositories of the workspace's folders, by the words of `revisions_of`.

    Folders without a repository, or in which a revision does not exist, are left out if others have it. Raises
    GitError, of the kind that the first folder gives, if none has.
    """
    found: list[tuple[Revisions, list[ChangedFile]]] = []
    failures: list[NotARepositoryError | RevisionError] = []
    for folder in sorted(sources.folders, key=lambda folder: folder.name):
        try:
            repository = open_repository(folder.root, cancellation)
            revisions = revisions_of(repository, asked)
        except (NotARepositoryError, RevisionError) as error:
            failures.append(error)
            continue
        found.append((revisions, list(_files(repository, folder, revisions, workspace))))
    if not found:
        raise failures[0]
    titles = list(dict.fromkeys(revisions.title for revisions, _ in found))
    first = found[0][0]
    files = sorted((file for _, files in found for file in files), key=lambda file: file.path)
    return Changes("; ".join(titles), first.revision, first.before if first.revision else "", tuple(files))


def _files(repository: Repository, folder: Folder, revisions: Revisions, workspace: Workspace) -> Iterator[ChangedFile]:
    if revisions.after is Uncommitted.WORKING_TREE:
        yield from working_changes(repository, folder, revisions.before, workspace)
        return
    if revisions.after is Uncommitted.INDEX:
        changed = staged_changes(repository, revisions.before)
    else:
        assert isinstance(revisions.after, str)
        changed = tree_changes(repository, revisions.before, revisions.after)
    inside = [change for change in changed if _is_inside(change, repository.prefix)]
    contents = blobs(repository.git, _wanted(inside))
    yield from (_read(change, folder, repository.prefix, contents) for change in inside)


def _is_inside(change: FileChange, prefix: str) -> bool:
    return any(path is not None and path.startswith(prefix) for path in (change.before, change.after))


def _wanted(changed: Iterable[FileChange]) -> Iterator[str]:
    """The blobs to read: those of files that people write."""
    for change in changed:
        if not _why_unread(change):
            yield from (blob for blob in (change.before_blob, change.after_blob) if blob is not None)


def _read(change: FileChange, folder: Folder, prefix: str, contents: Mapping[str, bytes]) -> ChangedFile:
    file = ChangedFile.of(change, contents, lambda path: _path(path, folder, prefix), _why_unread(change))
    sides = [text for path, text in ((change.before, file.before), (change.after, file.after)) if path is not None]
    unread = file.unread or why_no_code(sides)
    return replace(file, before=None, after=None, unread=unread) if unread else file


def _path(path: str, folder: Folder, prefix: str) -> str:
    """The workspace path of a file, given from the repository's top; also of one outside the folder."""
    if not path.startswith(prefix):
        path = os.path.relpath(f"/{path}", f"/{prefix}")
        return printable(folder.workspace_path(path))
    return printable(folder.workspace_path(path.removeprefix(prefix)))


def _why_unread(change: FileChange) -> str:
    """Reason not to read a file, by its kind and name; "" if there is none."""
    if "160000" in (change.before_mode, change.after_mode):
        return "submodule"
    if not change.regular:
        return "link"
    return reason_against_path(change.path) or ""


def why_no_code(sides: Sequence[bytes | None]) -> str:
    """Reason not to show contents: binary, generated, minified, too large or absent (None); "" if there is none."""
    for data in sides:
        if data is None:
            return f"larger than {MOST_BLOB_BYTES:,} bytes, or not in this clone"
        reason = (unreadable_content(data) or unwanted_content(data)) if data.strip() else None
        if reason:
            return reason
    return ""
