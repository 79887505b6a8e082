"""Answers of the default models about a few files of click have the lines that answer, sentence by sentence."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.config import FileRules, TargetOptions
from winnow_engine.core import Budget, Cancellation, Folder, Sampling
from winnow_engine.index.workspace import Sources
from winnow_engine.prompting.attribution import attribution_of
from winnow_engine.prompting.sentences import states_something
from winnow_engine.question import Question
from winnow_engine.targets.answer import Answer

from .assistants import opened
from .click_sources import fetch

pytestmark = pytest.mark.real_weights

RULES = FileRules(include=("exceptions.py", "globals.py", "_textwrap.py"))
PUSH_AND_POP = [("globals.py", 44, 48), ("globals.py", 49, 53)]
FORMAT_MESSAGE = [("exceptions.py", 276, 281)]


@pytest.fixture(scope="module")
def assistant(qwen_small: Path, qwen_target: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    with opened(tmp_path_factory.mktemp("cache"), qwen_small, qwen_target, TargetOptions(place="cpu")) as assistant:
        yield assistant


def ask(assistant: Assistant, question: str, budget: Budget, sampling: Sampling) -> Answer:
    return assistant.ask(sources(), Question(question), budget, sampling, lambda _: None)


def sources() -> Sources:
    return Sources((Folder(fetch() / "src" / "click"),), RULES)


@pytest.mark.parametrize(
    ("question", "golds"),
    [
        ("Where is the current context pushed to the stack, and where is it popped?", PUSH_AND_POP),
        ("Quote the code of FileError.format_message.", FORMAT_MESSAGE),
    ],
)
def test_an_answer_cites_the_lines_that_answer(
    assistant: Assistant, question: str, golds: list[tuple[str, int, int]]
) -> None:
    answer = ask(assistant, question, Budget(400), Sampling(max_tokens=80))
    for path, start, end in golds:
        inside = [
            one for one in answer.citations if one.path == path and start <= one.start_line <= one.end_line <= end
        ]
        assert inside, (answer.text, answer.citations)
    for one in answer.sentences:
        stated = states_something(answer.text[one.start : one.end])
        assert bool(one.places) or not stated or (one.support or 0) < 0.3, (answer.text, one)
    # A prompt costs little more than the code that it shows.
    kept = answer.stats.selection.kept_tokens
    assert 300 < kept < answer.stats.generation.prompt_tokens < kept + 220


@pytest.mark.parametrize(
    ("sentence", "place"),
    [
        ("A new context is pushed to the stack of this thread.", PUSH_AND_POP[0]),
        ("The `format_message` method of `FileError` says which file could not be opened.", FORMAT_MESSAGE[0]),
        ("The response is compressed with gzip before it is sent to the browser.", None),
        ("Payments are retried three times with a growing delay.", None),
    ],
)
def test_a_sentence_has_the_lines_that_hold_it_or_is_marked(
    assistant: Assistant, sentence: str, place: tuple[str, int, int] | None
) -> None:
    ranked = assistant.ranked(
        sources(), Question("Where is the context pushed? `FileError.format_message`?"), Budget(700)
    )
    spans = ranked.select(700).spans
    found = attribution_of(ranked, spans, Cancellation()).of(sentence, 0)
    first = [(one.path, one.start_line, one.end_line) for one in found.places[:1]]
    assert (first, found.found) == (([place], True) if place else ([], False)), (found, spans)
