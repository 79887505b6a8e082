"""Effects of a commit: the file and the units that a question is about, and other files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from winnow_engine.changes.changed import ChangedFile, Hunk
from winnow_engine.changes.units import ChangedUnit, file_units
from winnow_engine.core import Folder, Unit
from winnow_engine.errors import GitError
from winnow_engine.git.objects import Commit, blobs
from winnow_engine.git.repository import Repository
from winnow_engine.git.trees import FileChange, tree_changes
from winnow_engine.history.terms import asked_in, whole
from winnow_engine.index.bm25 import stems
from winnow_engine.index.units import enclosing
from winnow_engine.untrusted import printable

_MOST_FILES = 200  # of a commit with more, only these are listed and searched


@dataclass(frozen=True)
class CommitEffect:
    """A commit with what it did to `lines` of the file that it left at the workspace path `path`.

    `hunks` of `file` made them, in `units`; `others` are paths that it touched, too. `level` counts the commits since.
    """

    commit: Commit
    path: str
    lines: tuple[int, ...]
    file: ChangedFile | None
    others: tuple[str, ...]
    hunks: tuple[Hunk, ...]
    units: tuple[str, ...] = ()
    level: int = 0


@dataclass(frozen=True)
class FolderHistory:
    """A repository's history with the paths of a workspace folder in it."""

    repository: Repository
    folder: Folder

    def path(self, path: str) -> str:
        """The workspace path of a file given from the repository's top; one outside the folder keeps its own."""
        prefix = self.repository.prefix
        inside = path.startswith(prefix)
        return printable(self.folder.workspace_path(path.removeprefix(prefix)) if inside else path)

    def changes(self, commit: Commit) -> list[FileChange]:
        """The files that a commit changed: none where a shallow clone ends, and no renames in a partial clone."""
        if commit.id in self.repository.shallow:
            return []
        before = commit.parents[0] if commit.parents else self.repository.empty_tree
        try:
            return tree_changes(self.repository, before, commit.id)
        except GitError:  # files are compared to find renames, and a partial clone lacks some
            return tree_changes(self.repository, before, commit.id, renames=False)

    def others(self, changes: Iterable[FileChange], file: FileChange | None) -> tuple[str, ...]:
        """The workspace paths of changed files besides one."""
        return tuple(self.path(one.path) for one in list(changes)[:_MOST_FILES] if one is not file)

    def changed_files(self, changes: Iterable[FileChange]) -> list[ChangedFile | None]:
        """The contents on both sides of files; None for links and submodules."""
        listed = list(changes)
        read = [blob for one in listed if one.regular for blob in (one.before_blob, one.after_blob) if blob]
        contents = blobs(self.repository.git, read)
        return [ChangedFile.of(one, contents, self.path) if one.regular else None for one in listed]


_MOST_READ = 8  # files of a commit, those first whose paths fit
_WHOLE_NAME = 1.5  # weight, beside that of the words in it
_SHARE = 0.5  # of the best unit's fit
_NAME = re.compile(r"[^\W\d]\w*")
Terms = Mapping[str, float]


@dataclass(frozen=True)
class _Fit:
    file: ChangedFile
    score: float
    units: tuple[ChangedUnit, ...]


def terms_of(question: str) -> Terms:
    """The terms of a question, with code as it is written among them, and their weights."""
    asked = asked_in(question)
    return {**asked.terms, **{whole(name): _WHOLE_NAME for name in _NAME.findall(" ".join(asked.code))}}


def effect_on(history: FolderHistory, commit: Commit, terms: Terms) -> CommitEffect:
    """A commit with what it did to what some terms are about, as far as the clone has parents and contents."""
    changes = history.changes(commit)
    regular = (one for one in changes if one.regular)
    fitting = sorted(regular, key=lambda change: -_score(terms, [history.path(change.path)]))
    try:
        files = history.changed_files(fitting[:_MOST_READ])
    except GitError:  # a partial clone lacks some
        files = []
    best = max((_fit(file, terms) for file in files if file and file.hunks), key=lambda fit: fit.score, default=None)
    if best is None:
        path, *others = history.others(changes, None) or ("",)
        return CommitEffect(commit, path, (1,), None, tuple(others), ())
    before = sorted((unit.before for unit in best.units if unit.before), key=lambda unit: unit.start_line)
    after = [unit.after for unit in best.units if unit.after]
    hunks = tuple(hunk for hunk in best.file.hunks if _meet(hunk.before, before) or _meet(hunk.after, after))
    lines = sorted({line for hunk in hunks for line in hunk.after}) or [1]
    others = [path for path in history.others(changes, None) if path != best.file.path]
    names = dict.fromkeys(unit.name for unit in best.units if unit.name)
    return CommitEffect(commit, best.file.path, tuple(lines), best.file, tuple(others), hunks, tuple(names))


def _fit(file: ChangedFile, terms: Terms) -> _Fit:
    units = file_units(file).units
    scores = [_score(terms, [file.path, unit.name, *_changed(unit)]) for unit in units]
    most = max(scores, default=0.0)
    return _Fit(file, most, tuple(unit for unit, score in zip(units, scores, strict=True) if score >= most * _SHARE))


def _changed(unit: ChangedUnit) -> Iterator[str]:
    for hunk in unit.hunks:
        yield from (unit.before_lines[line - 1].decode("utf-8", "replace") for line in hunk.before)
        yield from (unit.after_lines[line - 1].decode("utf-8", "replace") for line in hunk.after)


def _score(terms: Terms, texts: Sequence[str]) -> float:
    text = "\n".join(texts)
    there = {*stems(text), *map(whole, _NAME.findall(text))}
    return sum(weight for term, weight in terms.items() if term in there)


def _meet(lines: range, units: Sequence[Unit]) -> bool:
    """True if the lines, or the place that an empty range tells, are in one of the units, which are in order."""
    unit = units[enclosing(units, lines.start)] if units else None
    return unit is not None and lines.start <= unit.end_line and lines.stop > unit.start_line
