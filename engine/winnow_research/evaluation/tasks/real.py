"""Questions as people ask them, written by hand about whole repositories → the lines that an answer needs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winnow_engine.index.languages import for_path
from winnow_engine.index.lines import Lines
from winnow_engine.question import Question
from winnow_research.errors import EvaluationError
from winnow_research.evaluation.cases import Case, Gold, Scene
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.repositories import PinnedRepository, SourceFile
from winnow_research.evaluation.tasks.base import EvaluationTask

QUESTIONS = Path(__file__).parents[1] / "real"
_GOLD = re.compile(r"(?P<path>.+):(?P<start>\d+)-(?P<end>\d+)")


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """Contents of a right answer: a form of each of `facts`, and none of `wrong`. Forms are in lower case."""

    facts: tuple[tuple[str, ...], ...]
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WrittenQuestion:
    """One question with its golds, whose paths are relative to the repository, and the key of its answer."""

    text: str
    golds: tuple[Gold, ...]
    key: AnswerKey | None = None


def scenes(corpus: Corpus, _tokens: int) -> Iterator[Scene]:
    """A scene for each repository with questions: the whole repository. EvaluationError if it lacks a gold."""
    for repository in corpus.subjects:
        written = load(repository)
        if not written:
            continue
        files = corpus.files(repository)
        wrong = problems(repository, files, written)
        if wrong:
            raise EvaluationError(f"{QUESTIONS / repository.name}.json: {'; '.join(wrong)}: correct the golds")
        yield Scene(repository.name, files, tuple(case_of("real", repository, one) for one in written))


def load(repository: PinnedRepository, directory: Path = QUESTIONS) -> tuple[WrittenQuestion, ...]:
    """The questions about a repository, from `NAME.json` in `directory`; empty if there is no such file.

    EvaluationError if the file is malformed, or about another version than the pinned one.
    """
    path = directory / f"{repository.name}.json"
    if not path.is_file():
        return ()
    try:
        document: dict[str, Any] = json.loads(path.read_text("utf-8"))
        found = tuple(map(question_of, document["questions"]))
    except (ValueError, KeyError, TypeError) as error:
        raise EvaluationError(
            f"{path} is not a file of questions: {error}; docs/relevance.md has the format"
        ) from error
    if document.get("version") != repository.archive.version:
        raise EvaluationError(f"{path} is about version {document.get('version')}, not {repository.archive.version}")
    return found


def problems(
    repository: PinnedRepository, files: Sequence[SourceFile], written: Sequence[WrittenQuestion]
) -> list[str]:
    """What is wrong with some questions: missing golds, golds that are not in the files or blank, and duplicates."""
    lines = {file.path: Lines(file.data) for file in files}
    data = {file.path: file.data for file in files}
    found = [f"{one.text!r} has no gold" for one in written if not one.golds]
    texts = [one.text.casefold() for one in written]
    found += [f"{text!r} is asked twice" for text in sorted({text for text in texts if texts.count(text) > 1})]
    found += [f"{one.text!r} says {form!r}" for one in written for form in _forms(one) if form in one.text.lower()]
    for gold in (gold for one in written for gold in one.golds):
        path = f"{repository.name}/{gold.path}"
        if path not in lines:
            found.append(f"there is no file {gold.path}")
        elif gold.end_line > lines[path].count:
            found.append(f"{gold.path} has {lines[path].count} lines, not {gold.end_line}")
        else:
            start, end = lines[path].span(gold.start_line, gold.end_line)
            if not data[path][start:end].strip():
                found.append(f"{gold.path}:{gold.start_line}-{gold.end_line} is blank")
    return found


def question_of(entry: dict[str, Any]) -> WrittenQuestion:
    """A question as files have it. KeyError, TypeError or ValueError if it is malformed."""
    key = AnswerKey(tuple(map(tuple, entry["facts"])), tuple(entry.get("wrong", ()))) if "facts" in entry else None
    return WrittenQuestion(entry["question"], tuple(map(_gold, entry["golds"])), key)


def _forms(one: WrittenQuestion) -> list[str]:
    return [form for forms in (one.key.facts if one.key else ()) for form in forms]


def _gold(text: str) -> Gold:
    match = _GOLD.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not PATH:START-END")
    return Gold(match["path"], int(match["start"]), int(match["end"]))


def case_of(task: str, repository: PinnedRepository, written: WrittenQuestion, language: str = "") -> Case:
    """The case of a question about a repository. `language` is by default that of the code asked about."""
    golds = tuple(Gold(f"{repository.name}/{g.path}", g.start_line, g.end_line) for g in written.golds)
    code = None if language else for_path(golds[0].path)
    return Case(task, repository.name, language or (code.name if code else "text"), Question(written.text), golds)


TASK = EvaluationTask("real", scenes, sized=False)
