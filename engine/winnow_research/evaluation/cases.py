"""The nouns of the evaluation: a case is a question with its golds, a scene a workspace with its cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path

from winnow_engine.question import Cursor, Question
from winnow_research.evaluation.repositories import SourceFile


class Gold(Cursor):
    """Lines of one file that an answer needs, 1-based and inclusive."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question with the lines that answer it, all of which must be kept. Without golds nothing here answers it.

    `language` is that of the code asked about.
    """

    task: str
    repository: str
    language: str
    question: Question
    golds: tuple[Gold, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """A workspace with the questions asked about it."""

    name: str
    files: tuple[SourceFile, ...]
    cases: tuple[Case, ...]

    def write(self, root: Path) -> None:
        """Write the files to `root`, where the engine reads them as it reads any workspace."""
        for file in self.files:
            place = root / file.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(file.data)


def without_lines(scene: Scene, dropped: Mapping[str, Set[int]]) -> Scene:
    """The scene without some lines of its files. Golds and cursors move to where their lines are now.

    `dropped` has the 1-based lines to leave out, by path.
    """
    files = tuple(_cut(file, dropped.get(file.path, frozenset())) for file in scene.files)
    return replace(scene, files=files, cases=tuple(_moved(case, dropped) for case in scene.cases))


def _cut(file: SourceFile, lines: Set[int]) -> SourceFile:
    if not lines:
        return file
    kept = [line for number, line in enumerate(file.data.splitlines(keepends=True), 1) if number not in lines]
    return SourceFile(file.path, b"".join(kept))


def _moved(case: Case, dropped: Mapping[str, Set[int]]) -> Case:
    golds = tuple(Gold(g.path, *_lines_now(g.start_line, g.end_line, dropped.get(g.path, ()))) for g in case.golds)
    cursor = case.question.cursor
    if cursor is not None:
        cursor = Cursor(cursor.path, *_lines_now(cursor.start_line, cursor.end_line, dropped.get(cursor.path, ())))
    return replace(case, golds=golds, question=replace(case.question, cursor=cursor))


def _lines_now(first: int, last: int, dropped: Iterable[int]) -> tuple[int, int]:
    """Where the rest of some lines is now; at least one of them must remain."""
    gone = list(dropped)
    before = sum(line < first for line in gone)
    return first - before, last - before - sum(first <= line <= last for line in gone)
