"""The files of a workspace that count, and the reasons against the others.

No link is followed, nothing but a regular file is opened, and no file is read past the size limit, whatever the tree
holds. A document open in an editor replaces the file on disk.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from winnow_engine.config import FileRules
from winnow_engine.errors import WorkspaceError
from winnow_engine.git.repository import top_above
from winnow_engine.git.working_trees import counted_instead
from winnow_engine.index import name_rules
from winnow_engine.index.file_rules import (
    EntryRules,
    is_directory,
    relative_to,
    unreadable,
    unreadable_content,
    unwanted_content,
)
from winnow_engine.index.file_text import NOTEBOOK, file_text
from winnow_engine.index.ignore import RULE_FILES, IgnoreRules, Pattern, rules_above
from winnow_engine.index.stat_cache import Content, StatCache
from winnow_engine.platform import is_folder, read_regular
from winnow_engine.untrusted import printable

NO_FILE = "no such file"
_FOLDER = "a folder, whose files count unless a rule leaves them out"
_REPLACED = "\ufffd".encode()  # in place of bytes that are not UTF-8
Skipped = Callable[[str, str], None]
"""Called with the path of each file left out and the reason; a directory stands for everything below it."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The rule by which a file counts or does not."""

    included: bool
    reason: str


def look(
    root: Path,
    rules: FileRules | None = None,
    skipped: Skipped | None = None,
    checkpoint: Callable[[], None] = lambda: None,
    open_documents: Mapping[str, bytes] | None = None,
    stats: StatCache | None = None,
) -> Iterator[tuple[str, Content]]:
    """Files that count, in path order; those that `stats` knows to be unchanged are not read.

    `checkpoint` is called at every file and directory; an exception it raises ends the walk. `open_documents` are
    contents by path, by the same rules; they replace files on disk and need not exist there. Raises WorkspaceError if
    `root` is not a readable directory, or is git's own.
    """
    walk = _Walk(_checked(root), rules or FileRules(), skipped or _not_asked, open_documents or {}, stats)
    for candidate in sorted(walk.candidates(check=checkpoint), key=lambda found: found.path):
        if (content := walk.read(candidate)) is not None:
            yield candidate.path, content


def explain(root: Path, path: Path, rules: FileRules | None = None) -> Verdict:
    """The verdict on a file or folder; `path` is relative to the root or absolute. Raises as `look` does."""
    root = _checked(root)
    try:
        relative = Path(os.path.normpath(root / path)).relative_to(root).as_posix()
    except ValueError:
        return Verdict(False, "outside the workspace")
    reasons: dict[str, str] = {}
    walk = _Walk(root, rules or FileRules(), reasons.__setitem__, {})
    for candidate in walk.candidates(_leading_to([relative])):
        if content := walk.read(candidate):
            asked = candidate.asked_for_by
            reason = f"taken back by {asked}" if asked else "no rule leaves it out"
            return Verdict(True, f"{reason}; read as {content.made_of}" if content.made_of else reason)
    counts = not reasons and is_folder(root / relative)
    return Verdict(counts, _FOLDER if counts else next(iter(reasons.values()), NO_FILE))


def folders(root: Path, rules: FileRules | None = None) -> Iterator[Path]:
    """Folders that `look` enters, `root` first. Raises WorkspaceError as `look` does."""
    resolved = _checked(root)
    walk = _Walk(resolved, rules or FileRules(), _not_asked, {})
    return (root / relative_to(folder.path, resolved) for folder in walk.folders(None, lambda: None))


def enters(root: Path, folder: Path, rules: FileRules | None = None) -> bool:
    """True if `look` enters a folder: it lies below the root, and no rule leaves it out."""
    return explain(root, folder, rules).reason == _FOLDER


def left_out(root: Path, files: Collection[str], rules: FileRules | None = None) -> set[str]:
    """Those of some files, and of the folders above them, that their names, ignore patterns or the user's leave out.

    A file may be gone from the disk. All paths are relative to the root. Raises WorkspaceError as `look` does.
    """
    return set(_Walk(_checked(root), rules or FileRules(), _not_asked, {}).left_out(files))


def _leading_to(paths: Iterable[str]) -> Set[str]:
    """The paths and all folders above them."""
    return {str(one) for path in map(PurePosixPath, paths) for one in (path, *path.parents)}


def _by_folder(files: Iterable[str]) -> Mapping[str, list[str]]:
    found = defaultdict[str, list[str]](list)
    for file in files:
        found[file.rpartition("/")[0]].append(file)
    return found


def _not_asked(_path: str, _reason: str) -> None:
    """A `skipped` that does nothing."""


def _checked(root: Path) -> Path:
    try:
        os.scandir(root).close()
    except OSError as error:
        raise WorkspaceError(
            f"the workspace {root} cannot be read: {error.strerror}; name a readable directory"
        ) from error
    real = root.resolve()
    if ".git" in real.parts and (top := top_above(real)) is not None and real.is_relative_to(top / ".git"):
        raise WorkspaceError(f"{root} is git's own folder: name the working tree, {top}")
    return real


@dataclass(frozen=True, slots=True)
class _CandidateFile:
    """A file that no rule on names leaves out, and the pattern that asks for it; no `status` if it is not on disk."""

    path: str
    asked_for_by: str | None
    status: os.stat_result | None


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    rules: IgnoreRules
    names: Set[str]
    files: list[_CandidateFile] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)


class _Walk:
    def __init__(
        self,
        root: Path,
        rules: FileRules,
        skipped: Skipped,
        open_documents: Mapping[str, bytes],
        stats: StatCache | None = None,
    ) -> None:
        self._root, self._skipped, self._open = root, skipped, open_documents
        self._open_in = _by_folder(open_documents)
        self._rules = EntryRules(root, rules)
        self._stats = stats or StatCache()

    def candidates(
        self, only: Set[str] | None = None, check: Callable[[], None] = lambda: None
    ) -> Iterator[_CandidateFile]:
        """Files that no rule on names or kinds leaves out, unordered; with `only`, those among these paths."""
        for folder in self.folders(only, check):
            yield from self._unsaved(folder)
            yield from folder.files

    def left_out(self, files: Collection[str]) -> Iterator[str]:
        """Those of the files and the folders above them that names, ignore patterns or the user's leave out."""
        inside = _by_folder({*files, *_leading_to(_by_folder(files))} - {"", "."})
        for folder in self.folders(inside.keys(), lambda: None):
            for path in inside.get(relative_to(folder.path, self._root), ()):
                if self._by_name(folder, path, path in inside)[1] is not None:
                    yield path

    def folders(self, only: Set[str] | None, check: Callable[[], None]) -> Iterator[_Folder]:
        """Folders that no rule leaves out, each before those in it; with `only`, those among these paths."""
        pending = [(self._root.as_posix(), rules_above(self._root))]
        while pending:
            directory, above = pending.pop()
            check()
            entries = self._entries(directory)
            names = frozenset(entry.name for entry in entries)
            reason = name_rules.reason_for_marker(names) or self._reason_for_copy(directory, names)
            if reason is not None and not self._is_asked_for(directory, above):
                self._skipped(relative_to(directory, self._root), reason)
                continue
            rules = above if names.isdisjoint(RULE_FILES) else above.below(Path(directory), self._root)
            folder = _Folder(directory, rules, names)
            self._list(folder, entries, only, check)
            yield folder
            pending += [(inner, folder.rules.inside(inner)) for inner in folder.folders]

    def _reason_for_copy(self, directory: str, names: Set[str]) -> str | None:
        counted = counted_instead(Path(directory), self._root) if ".git" in names else None
        if counted is None:
            return None
        return f"a worktree of a repository that counts in {relative_to(counted.as_posix(), self._root) or '.'}"

    def _is_asked_for(self, directory: str, above: IgnoreRules) -> bool:
        """True for the root, and for a folder that the user's patterns take back."""
        own = self._rules.users_pattern(directory, True, above)
        return directory == self._root.as_posix() or own is not None

    def _list(
        self, folder: _Folder, entries: Iterable[os.DirEntry[str]], only: Set[str] | None, check: Callable[[], None]
    ) -> None:
        """Give a folder those of its entries that count; with `only`, just those among these paths."""
        for entry in entries:
            check()
            path = relative_to(entry.path, self._root)
            if only is not None and path not in only:
                continue
            own = self._rules.users_pattern(entry.path, is_directory(entry), folder.rules)
            reason = self._rules.reason_against(entry, own, folder.rules)
            if entry.name == "config" and own is None and name_rules.reason_for_marker(folder.names) == name_rules.BARE:
                reason = "secret: the repository's configuration"
            if reason is not None:
                self._skipped(printable(path), reason)
            elif is_directory(entry):
                folder.folders.append(entry.path)
            else:
                status = entry.stat(follow_symlinks=False)
                folder.files.append(_CandidateFile(path, own.quoted if own else None, status))

    def read(self, candidate: _CandidateFile) -> Content | None:
        """A file's content, or None if it cannot be read or a rule on content leaves it out."""
        try:
            content = self._content(candidate)
        except OSError as error:
            self._skipped(candidate.path, unreadable(error))
            return None
        if content.reason is None:
            return content
        self._skipped(candidate.path, content.reason)
        return None

    def _content(self, candidate: _CandidateFile) -> Content:
        """A candidate's content: of the open document, or on disk. Raises OSError."""
        asked_for, opened = candidate.asked_for_by is not None, self._open.get(candidate.path)
        if opened is not None:
            misread = candidate.status and _REPLACED in opened
            return self._misread(candidate, opened) if misread else self._judged(candidate.path, opened, asked_for)
        path, status = candidate.path, candidate.status
        assert status is not None, "a file that is not on disk is an open document"
        read = lambda: self._judged(path, self._read_from_disk(path), asked_for)  # noqa: E731
        return self._stats.content(str(self._root), path, asked_for, status, read)

    def _misread(self, candidate: _CandidateFile, opened: bytes) -> Content:
        """A document of which the editor could not read some bytes: as it is on disk, if it was not edited since."""
        asked_for, on_disk = candidate.asked_for_by is not None, self._read_from_disk(candidate.path)
        content = self._judged(candidate.path, on_disk, asked_for)
        if on_disk.decode("utf-8", "replace").encode() == opened:
            return content
        return replace(self._judged(candidate.path, opened, asked_for), made_of=content.made_of)

    def _read_from_disk(self, path: str) -> bytes:
        return read_regular(self._root / path, self._rules.most_bytes(path) + 1)

    def _judged(self, path: str, data: bytes, asked_for: bool) -> Content:
        if reason := self._rules.too_large(path, len(data)):
            return Content(reason=reason)
        text, made_of = file_text(path, data)
        reason = unreadable_content(text) or self._rules.too_large("", len(text) * (made_of == NOTEBOOK))
        if reason is None and not asked_for:
            reason = unwanted_content(text)
        return Content.of(path, text, made_of) if reason is None else Content(reason=reason)

    def _unsaved(self, folder: _Folder) -> Iterator[_CandidateFile]:
        for document in self._open_in.get(relative_to(folder.path, self._root), ()):
            if document.rpartition("/")[2] in folder.names:
                continue
            own, reason = self._by_name(folder, document, False)
            if reason is None:
                yield _CandidateFile(document, own.quoted if own else None, None)
            else:
                self._skipped(printable(document), reason)

    def _by_name(self, folder: _Folder, path: str, is_dir: bool) -> tuple[Pattern | None, str | None]:
        """The user's pattern that matches an entry of the folder, on disk or not; the reason in its name against it."""
        absolute = (self._root / path).as_posix()
        own = self._rules.users_pattern(absolute, is_dir, folder.rules)
        return own, self._rules.reason_in_name(absolute, is_dir, own, folder.rules)

    def _entries(self, directory: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(f"{directory.rstrip('/')}/") as found:  # else paths have a backslash on Windows
                return list(found)
        except OSError as error:
            self._skipped(relative_to(directory, self._root), unreadable(error))
            return []
