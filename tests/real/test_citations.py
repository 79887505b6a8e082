"""Answers of the default models about a few files of click cite the lines that answer."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.config import FileRules, TargetOptions
from winnow_engine.core import Budget, Folder, Sampling
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.workspace import Sources
from winnow_engine.question import Question
from winnow_engine.storage.store import Store
from winnow_engine.targets.answer import Answer
from winnow_engine.targets.local.target import LlamaTarget

from .click_sources import fetch

pytestmark = pytest.mark.real_weights

RULES = FileRules(include=("exceptions.py", "globals.py", "parser.py", "_textwrap.py"))
PUSH_AND_POP = [("globals.py", 44, 48), ("globals.py", 49, 53)]
FORMAT_MESSAGE = [("exceptions.py", 276, 281)]


@pytest.fixture(scope="module")
def assistant(qwen_small: Path, qwen_target: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    with (
        closing(Store(tmp_path_factory.mktemp("cache") / "index.sqlite")) as store,
        closing(
            Assistant(
                store, lambda: Drafter(qwen_small), lambda: LlamaTarget.open(qwen_target, TargetOptions(place="cpu"))
            )
        ) as assistant,
    ):
        yield assistant


def ask(assistant: Assistant, question: str, budget: Budget, sampling: Sampling) -> Answer:
    sources = Sources((Folder(fetch() / "src" / "click"),), RULES)
    return assistant.ask(sources, Question(question), budget, sampling, lambda _: None)


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
    answer = ask(assistant, question, Budget(700), Sampling(max_tokens=80))
    for path, start, end in golds:
        inside = [
            one for one in answer.citations if one.path == path and start <= one.start_line <= one.end_line <= end
        ]
        assert inside, (answer.text, answer.citations)
    # A prompt costs little more than the code that it shows.
    kept = answer.stats.selection.kept_tokens
    assert 600 < kept < answer.stats.generation.prompt_tokens < kept + 220
