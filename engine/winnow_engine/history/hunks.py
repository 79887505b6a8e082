"""What a commit did to what a question is about: of all that it changed, the file and the units that fit best."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from winnow_engine.changes.changed import ChangedFile
from winnow_engine.changes.lines import Hunk
from winnow_engine.changes.units import ChangedUnit, file_units
from winnow_engine.core import Folder
from winnow_engine.git.objects import Commit, blobs, existing
from winnow_engine.git.repository import Repository
from winnow_engine.git.trees import FileChange, tree_changes
from winnow_engine.history.asked import asked_in
from winnow_engine.history.blame_chain import Shaping, blobs_of, changed_file, path_of
from winnow_engine.history.terms import stem, whole, words

_MOST_READ = 8  # files of a commit, those first whose paths fit
_MOST_PATHS = 200
_WHOLE_NAME = 1.5  # weight, beside that of the words in it
_SHARE = 0.5  # of the best unit's fit
_NAME = re.compile(r"[^\W\d]\w*")

Terms = Mapping[str, float]


@dataclass(frozen=True)
class _Fit:
    """Units of a changed file that fit a question, and how well the best does."""

    file: ChangedFile
    score: float
    units: tuple[ChangedUnit, ...]


def asked_of(question: str) -> Terms:
    """The terms of a question, names as they are written among them, with their weights."""
    asked = asked_in(question)
    return {**asked.terms, **{name: _WHOLE_NAME * weight for name, weight in asked.names.items()}}


def shapings_of(repository: Repository, folder: Folder, found: Sequence[Commit], terms: Terms) -> list[Shaping]:
    """Commits of a repository, each with what it did to what some terms are about. Raises GitError."""
    known = existing(repository.git, [parent for commit in found for parent in commit.parents[:1]])
    touched = [_touched(repository, folder, commit, known) for commit in found]
    fitting = [_fitting(paths, terms) for paths in touched]
    contents = blobs(repository.git, [blob for some in fitting for change in some for blob in blobs_of(change)])
    shapings = []
    for commit, paths, changes in zip(found, touched, fitting, strict=True):
        files = [changed_file(repository, folder, change, contents) for change in changes]
        best = max((_fit(file, terms) for file in files if file.hunks), key=lambda fit: fit.score, default=None)
        shapings.append(_shaping(commit, best, list(paths.values())))
    return shapings


def _touched(repository: Repository, folder: Folder, commit: Commit, known: Container[str]) -> dict[FileChange, str]:
    """What a commit changed, each with its path; nothing is known of one at which a shallow clone ends."""
    parent = commit.parents[0] if commit.parents else repository.empty_tree
    if commit.parents and parent not in known:
        return {}
    changes = tree_changes(repository, parent, commit.id)[:_MOST_PATHS]
    return {change: path_of(folder, repository, change.path) for change in changes}


def _fitting(paths: Mapping[FileChange, str], terms: Terms) -> list[FileChange]:
    """The files to read, those first whose paths fit."""
    regular = [change for change in paths if change.regular]
    return sorted(regular, key=lambda change: -_score(terms, [paths[change]]))[:_MOST_READ]


def _shaping(commit: Commit, best: _Fit | None, paths: Sequence[str]) -> Shaping:
    path = best.file.path if best else next(iter(paths), "")
    others = tuple(one for one in paths if one != path)
    hunks = tuple(_hunks(best)) if best else ()
    lines = sorted({line for hunk in hunks for line in hunk.after}) or [1]
    units = dict.fromkeys(unit.name for unit in best.units if unit.name) if best else {}
    return Shaping(commit, path, tuple(lines), best.file if best else None, others, 0, hunks, tuple(units))


def _fit(file: ChangedFile, terms: Terms) -> _Fit:
    units = file_units(file).units
    scores = [_score(terms, [file.path, unit.name, *_changed(unit)]) for unit in units]
    most = max(scores, default=0.0)
    return _Fit(file, most, tuple(unit for unit, score in zip(units, scores, strict=True) if score >= most * _SHARE))


def _changed(unit: ChangedUnit) -> Iterable[str]:
    """The lines of a unit that a commit took or gave."""
    for hunk in unit.hunks:
        lines = [unit.before_lines[line - 1] for line in hunk.before] + [
            unit.after_lines[line - 1] for line in hunk.after
        ]
        yield from (line.decode("utf-8", "replace") for line in lines)


def _score(terms: Terms, texts: Iterable[str]) -> float:
    """The weights of the terms that occur in texts."""
    text = "\n".join(texts)
    there = {*map(stem, words(text)), *map(whole, _NAME.findall(text))}
    return sum(weight for term, weight in terms.items() if term in there)


def _hunks(fit: _Fit) -> Iterable[Hunk]:
    """The hunks of the file that lie in its units that fit."""
    for hunk in fit.file.hunks:
        if any(_meet(hunk, unit) for unit in fit.units):
            yield hunk


def _meet(hunk: Hunk, unit: ChangedUnit) -> bool:
    pairs = ((hunk.before, unit.before), (hunk.after, unit.after))
    return any(side and lines.start <= side.end_line and lines.stop > side.start_line for lines, side in pairs)
