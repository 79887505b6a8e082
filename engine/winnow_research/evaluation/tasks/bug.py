"""What a project says of a mistake that it mended → the code that it changed for that, as it was before.

It says so in the change log of a release, or in the message of a later commit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from winnow_engine.core import UnitKind
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.question import Question
from winnow_research.errors import EvaluationError
from winnow_research.evaluation.archives import Archive, unpacked
from winnow_research.evaluation.cases import Case, Scene
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.haystack import Haystack, Place, indexed
from winnow_research.evaluation.repositories import PinnedRepository
from winnow_research.evaluation.tasks import real
from winnow_research.evaluation.tasks.base import EvaluationTask

QUESTIONS = Path(__file__).parents[1] / "bugs"

_CODE = (UnitKind.FUNCTION, UnitKind.METHOD, UnitKind.CLASS_HEADER, UnitKind.TOP_LEVEL)
_MOST_GOLDS, _LARGEST_GOLD = 4, 4000  # units, bytes
_MOST_ENTRIES, _MOST_WORDS = 2, 80
_VERSION = r"\d+\.\d+(?:\.\d+)*"
_LINK = r"\[[^\]]*\]\([^)]*\)"
_REFERENCE = re.compile(
    rf"\(?:(?:issue|pr|ghsa|cwe):`[^`]*`\)?\.?,?|,? (?:closes|in) {_LINK}|\(?{_LINK}(?: by .*)?\)?|^[-*]\s+"
    rf"|\bThanks {_LINK}! -|\bThanks .*|\(?\[[#@][\w-]+\]\)?(?:&#x3A;)?"
)
_ENTRY = re.compile(r"\n\s*\n|\n\s*[-*]\s+")


def scenes(corpus: Corpus, tokens: int) -> Iterator[Scene]:
    """Scenes of the releases and of the commits."""
    yield from of_releases(corpus, tokens)
    yield from of_commits(corpus, tokens)


def of_releases(corpus: Corpus, tokens: int) -> Iterator[Scene]:
    """A scene with one question for each release that has one or two entries and changed few units.

    The workspace is the previous release. With small releases it is certain which entry caused which change.
    """
    for repository in corpus.subjects:
        for before, after in repository.history.pairs if repository.history else ():
            text = entries(_changelog(corpus, repository, after), after.version)
            golds = _changed(corpus, repository, before, after) if text else []
            if 1 <= len(golds) <= _MOST_GOLDS and all(_fits(place) for place in golds):
                yield from _scene(corpus, repository, before, text, golds, tokens)


def of_commits(corpus: Corpus, tokens: int, task: str = "bug", directory: Path | None = None) -> Iterator[Scene]:
    """A scene for each release with later commits that changed units which the release has: *bug*'s mended something.

    Questions about a file that is too large for the workspace are left out. EvaluationError if a gold is not there.
    """
    for repository in corpus.subjects:
        for archive, written in reported(repository, directory):
            files = repository.files(archive, corpus.directory)
            wrong = real.problems(repository, files, written)
            if wrong:
                raise EvaluationError(f"{repository.name} {archive.version}: {'; '.join(wrong)}: make its file again")
            cases = [real.case_of(task, repository, one) for one in written]
            haystack = corpus.haystack(repository, files, tokens, {gold.path for case in cases for gold in case.golds})
            there = {file.path for file in haystack.files}
            yield haystack.scene(case for case in cases if all(gold.path in there for gold in case.golds))


def reported(
    repository: PinnedRepository, directory: Path | None = None
) -> list[tuple[Archive, list[real.WrittenQuestion]]]:
    """A repository's releases with what later commits mended in them, from `NAME.json` in `directory`."""
    path = (directory or QUESTIONS) / f"{repository.name}.json"
    if not path.is_file():
        return []
    releases = (repository.archive, *(repository.history.releases if repository.history else ()))
    known = {archive.version: archive for archive in releases}
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))["releases"]
    return [(known[version], list(map(real.question_of, asked))) for version, asked in document.items()]


def entries(changelog: str, version: str) -> str:
    """A change log's entries about a version, on one line without references; empty if there are none or too many."""
    heading = re.compile(rf"^(?:#+|Version)?[ \[v]*{re.escape(version)}(?![\d.]).*\n", re.MULTILINE)
    start = heading.search(changelog)
    if start is None:
        return ""
    end = re.compile(rf"^(?:#+|Version)?[ \[v]*{_VERSION}\b", re.MULTILINE).search(changelog, start.end())
    section = changelog[start.end() : end.start() if end else None]
    found = [
        " ".join(_REFERENCE.sub("", part.strip()).split()).removeprefix(": ") for part in _ENTRY.split(f"\n{section}")
    ]
    found = [
        part for part in found if not re.match(r"#|[-=~]+$|Released\b|[A-Z][\w ]+:?$", part) and len(part.split()) > 3
    ]
    text = " ".join(found)
    return text if 1 <= len(found) <= _MOST_ENTRIES and len(text.split()) <= _MOST_WORDS else ""


def changed_units(before: Iterable[IndexedFile], after: Iterable[IndexedFile], versions: Iterable[str]) -> list[Place]:
    """The code units of `before` that `after` lacks. A change of a version number alone does not count."""
    number = re.compile("|".join(map(re.escape, versions)))
    known = {file.path: {number.sub("", file.text_of(unit)) for unit in file.units} for file in after}
    places = (Place(file, index) for file in before for index in range(len(file.units)))
    return [
        place
        for place in places
        if place.unit.kind in _CODE and number.sub("", place.text) not in known.get(place.file.path, ())
    ]


def _changed(corpus: Corpus, repository: PinnedRepository, before: Archive, after: Archive) -> list[Place]:
    old, new = (indexed(repository.files(archive, corpus.directory)) for archive in (before, after))
    own = [
        file for file in Haystack(repository, old).own_files if PurePosixPath(file.path).suffix not in (".md", ".rst")
    ]
    return changed_units(own, new, (before.version, after.version))


def _changelog(corpus: Corpus, repository: PinnedRepository, archive: Archive) -> str:
    assert repository.history is not None
    return (unpacked(archive, corpus.directory) / repository.history.changelog).read_text("utf-8")


def _fits(place: Place) -> bool:
    return place.unit.end_byte - place.unit.start_byte <= _LARGEST_GOLD


def _scene(
    corpus: Corpus, repository: PinnedRepository, before: Archive, text: str, golds: list[Place], tokens: int
) -> Iterator[Scene]:
    """The scene; nothing if a file that changed is too large for the workspace."""
    wanted = {place.file.path for place in golds}
    haystack = corpus.haystack(repository, repository.files(before, corpus.directory), tokens, wanted)
    if wanted <= {file.path for file in haystack.files}:
        question = Question(f"What has to change for this: {text}")
        found = tuple(place.gold for place in golds)
        yield haystack.scene([Case("bug", repository.name, golds[0].language, question, found)])


TASK = EvaluationTask("bug", scenes)
