"""Which files of a workspace count, and why the others do not.

One walk decides, for `scan` and `explain` alike. Whatever the tree holds, no link is followed, nothing but a
regular file is opened, and no file is read past the size limit. A document
open in an editor replaces the file on disk.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from winnow_engine.config import FileRules
from winnow_engine.errors import WorkspaceError
from winnow_engine.index import content_rules, name_rules
from winnow_engine.index.ignore import RULE_FILES, IgnoreRules, Pattern, deciding, patterns, rules_above
from winnow_engine.index.listings import Listing
from winnow_engine.index.regular import read_regular
from winnow_engine.index.remembered import Content, FileMemory
from winnow_engine.store import content_key

Skipped = Callable[[str, str], None]
"""Called with the path of each file left out and the reason; a directory stands for everything below it."""

_SPECIAL = (
    (stat.S_ISFIFO, "FIFO"),
    (stat.S_ISSOCK, "socket"),
    (stat.S_ISCHR, "device"),
    (stat.S_ISBLK, "device"),
)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that counts: its path relative to the root, with forward slashes, and its bytes."""

    path: str
    data: bytes

    @property
    def key(self) -> str:
        """Names the file's records in a store."""
        return content_key(self.path, self.data)


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a file counts, and by which rule."""

    included: bool
    reason: str


def scan(
    root: Path,
    rules: FileRules | None = None,
    skipped: Skipped | None = None,
    checkpoint: Callable[[], None] | None = None,
    open_documents: Mapping[str, bytes] | None = None,
) -> Iterator[SourceFile]:
    """The files that count, in path order. Raises WorkspaceError if `root` is not a readable directory.

    `checkpoint` is called at every file and directory; an exception it raises ends the walk. `open_documents` are
    contents by path. They replace what is on disk and need not exist there; the same rules decide whether they count.
    """
    for path, content in look(root, rules, skipped, checkpoint, open_documents):
        yield SourceFile(path, content.read())


def look(
    root: Path,
    rules: FileRules | None = None,
    skipped: Skipped | None = None,
    checkpoint: Callable[[], None] | None = None,
    open_documents: Mapping[str, bytes] | None = None,
    memory: FileMemory | None = None,
) -> Iterator[tuple[str, Content]]:
    """As `scan`, with a file's content in place of its bytes: what `memory` has and did not change is not read."""
    walk = _Walk(_checked(root), rules or FileRules(), skipped or _not_asked, open_documents or {}, memory)
    for candidate in sorted(walk.candidates(checkpoint=checkpoint), key=lambda found: found.path):
        content = walk.read(candidate)
        if content is not None:
            yield candidate.path, content


def explain(root: Path, path: Path, rules: FileRules | None = None) -> Verdict:
    """Why a file counts or not; `path` is relative to the root or absolute. Raises WorkspaceError as `scan` does."""
    root = _checked(root)
    try:
        relative = Path(os.path.normpath(root / path)).relative_to(root).as_posix()
    except ValueError:
        return Verdict(False, "outside the workspace")
    reasons: dict[str, str] = {}
    walk = _Walk(root, rules or FileRules(), reasons.__setitem__, {})
    for candidate in walk.candidates(only=relative):
        if walk.read(candidate) is not None:
            asked = candidate.asked_for_by
            return Verdict(True, f"taken back by {asked}" if asked else "no rule leaves it out")
    directory = (root / relative).is_dir()
    return Verdict(False, next(iter(reasons.values()), "directory" if directory else "no such file"))


def _not_asked(_path: str, _reason: str) -> None:
    """The `skipped` of a caller that does not ask what was left out."""


def _checked(root: Path) -> Path:
    try:
        os.scandir(root).close()
    except OSError as error:
        raise WorkspaceError(
            f"the workspace {root} cannot be read: {error.strerror}; name a readable directory"
        ) from error
    return root.resolve()


@dataclass(frozen=True, slots=True)
class _CandidateFile:
    """A file that no rule on names leaves out. `asked_for_by` quotes the `.winnowignore` pattern that asks for it.

    `status` is None for a document that is not on disk.
    """

    path: str
    asked_for_by: str | None
    status: os.stat_result | None


class _Walk:
    """One walk through a workspace."""

    def __init__(
        self,
        root: Path,
        rules: FileRules,
        skipped: Skipped,
        open_documents: Mapping[str, bytes],
        memory: FileMemory | None = None,
    ) -> None:
        self._root, self._max_bytes, self._skipped, self._open = root, rules.max_bytes, skipped, open_documents
        self._memory = memory or FileMemory()
        self._listings = self._memory.listings
        self._include = GitIgnoreSpec.from_lines(rules.include) if rules.include else None
        self._exclude = patterns(rules.exclude, root, "exclude")

    def candidates(
        self, only: str | None = None, checkpoint: Callable[[], None] | None = None
    ) -> Iterator[_CandidateFile]:
        """The files that no rule on names or kinds leaves out, in no order; with `only`, at most that one."""
        check = checkpoint or (lambda: None)
        self._listings.root(str(self._root))
        pending = [(str(self._root), rules_above(self._root))]
        while pending:
            directory, above = pending.pop()
            check()
            listing = self._known(directory, above) or self._listed(directory, above, only, check)
            yield from self._unsaved(Path(directory), listing.names, listing.rules) if self._open else ()
            yield from listing.candidates
            pending += [(folder, listing.rules) for folder in listing.folders]

    def _known(self, directory: str, above: IgnoreRules) -> Listing | None:
        """What was found in a directory, if neither it nor the rules have changed."""
        known = self._listings.get(str(self._root), directory)
        if known is None or (known.above is not above and known.above != above):
            return None
        if ".git" in known.names and above.below(Path(directory), self._root) != known.rules:
            return None  # what git keeps is not watched
        return known

    def _listed(self, directory: str, above: IgnoreRules, only: str | None, check: Callable[[], None]) -> Listing:
        """What is in a directory; with `only`, no more of it than leads to that file."""
        watched = only is None and self._listings.watch(directory)  # first, so that nothing changes unnoticed
        entries = self._entries(directory)
        names = frozenset(entry.name for entry in entries)
        rules = above if names.isdisjoint(RULE_FILES) else above.below(Path(directory), self._root)
        files, folders = list[_CandidateFile](), list[str]()
        for entry in entries:
            check()
            relative = self._relative(entry.path)
            if only is not None and not f"{only}/".startswith(f"{relative}/"):
                continue
            own = deciding(self._exclude + rules.winnow, entry.path, _is_directory(entry))
            reason = self._reason(entry, relative, own, rules)
            if reason is not None:
                self._skipped(_printable(relative), reason)
            elif _is_directory(entry):
                folders.append(entry.path)
            else:
                files.append(_CandidateFile(relative, own.quoted if own else None, entry.stat(follow_symlinks=False)))
        lasting = watched and all(file.status is not None and file.status.st_nlink == 1 for file in files)
        listing = Listing(above, rules, names, tuple(files), tuple(folders), lasting)
        self._listings.keep(str(self._root), directory, listing)
        return listing

    def read(self, candidate: _CandidateFile) -> Content | None:
        """What a file holds, or None if it cannot be read or a rule on content leaves it out."""
        try:
            content = self._content(candidate)
        except OSError as error:
            self._skipped(candidate.path, _unreadable(error))
            return None
        if content.reason is None:
            return content
        self._skipped(candidate.path, content.reason)
        return None

    def _content(self, candidate: _CandidateFile) -> Content:
        """What a candidate holds: the open document, or what is on disk. Raises OSError."""
        asked_for, opened = candidate.asked_for_by is not None, self._open.get(candidate.path)
        if opened is not None:
            return self._judged(candidate.path, opened, asked_for)
        path, status = candidate.path, candidate.status
        assert status is not None, "a file that is not on disk is an open document"
        read = lambda: self._judged(path, read_regular(self._root / path, self._max_bytes + 1), asked_for)  # noqa: E731
        return self._memory.content(str(self._root), path, asked_for, status, read)

    def _judged(self, path: str, data: bytes, asked_for: bool) -> Content:
        """The bytes, if no rule on content leaves them out."""
        reason = self._too_large(len(data)) or content_rules.unreadable_content(data)
        if reason is None and not asked_for:
            reason = content_rules.machine_written(data)
        return Content.of(path, data) if reason is None else Content(reason=reason)

    def _unsaved(self, directory: Path, on_disk: Set[str], rules: IgnoreRules) -> Iterator[_CandidateFile]:
        """The open documents of a directory that no rule on names leaves out and that are not on disk."""
        for relative in self._open:
            path = self._root / relative
            if path.parent != directory or path.name in on_disk:
                continue
            own = deciding(self._exclude + rules.winnow, str(path), False)
            reason = _reason_in_name(path.name, str(path), False, own, rules) or self._not_included(relative)
            if reason is None:
                yield _CandidateFile(relative, own.quoted if own else None, None)
            else:
                self._skipped(_printable(relative), reason)

    def _relative(self, path: str) -> str:
        return path[len(str(self._root)) :].lstrip("/")

    def _entries(self, directory: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(directory) as found:
                return list(found)
        except OSError as error:
            self._skipped(self._relative(directory), _unreadable(error))
            return []

    def _reason(self, entry: os.DirEntry[str], relative: str, own: Pattern | None, rules: IgnoreRules) -> str | None:
        """Why an entry is left out by its name, kind or size; None if it is not."""
        named = _reason_in_name(entry.name, entry.path, _is_directory(entry), own, rules)
        if named is not None:
            return named
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            return _unreadable(error)
        if stat.S_ISDIR(status.st_mode):
            return None
        special = self._special(entry.path, status.st_mode)
        return special or self._not_included(relative) or self._too_large(status.st_size)

    def _special(self, path: str, mode: int) -> str | None:
        if stat.S_ISLNK(mode):
            return self._link(path)
        return next((f"not a regular file: {name}" for is_it, name in _SPECIAL if is_it(mode)), None)

    def _link(self, path: str) -> str:
        """Links are never followed: the file one points to counts, or is left out, under its own path."""
        try:
            target = os.path.realpath(path, strict=True)
        except OSError as error:
            return f"broken symbolic link: {error.strerror}"
        if Path(target).is_dir():
            return "symbolic link to a directory"
        if not Path(target).is_relative_to(self._root):
            return "symbolic link out of the workspace"
        return f"symbolic link: {_printable(self._relative(target))!r} counts under its own path"

    def _not_included(self, relative: str) -> str | None:
        if self._include is None or self._include.match_file(relative):
            return None
        return "matches none of the patterns to include"

    def _too_large(self, size: int) -> str | None:
        return f"larger than {self._max_bytes:,} bytes ({size:,})" if size > self._max_bytes else None


def _reason_in_name(name: str, path: str, directory: bool, own: Pattern | None, rules: IgnoreRules) -> str | None:
    """Why a file or directory is left out by its name; `own` is the user's strongest pattern that matches it."""
    if not name.isprintable():
        return "its name is not printable UTF-8"
    if own is not None:
        return _ignored_by(own)
    return name_rules.reason_against(name, directory) or _ignored_by(deciding(rules.git, path, directory))


def _ignored_by(pattern: Pattern | None) -> str | None:
    return f"ignored by {pattern.quoted}" if pattern and pattern.ignores else None


def _is_directory(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False)


def _unreadable(error: OSError) -> str:
    return f"unreadable: {error.strerror}"


def _printable(path: str) -> str:
    """The path with escapes for what a terminal or JSON cannot hold."""
    return path if path.isprintable() else path.encode("unicode_escape", "surrogateescape").decode("ascii", "replace")
