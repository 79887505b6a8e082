"""What keeps an answer honest, on real weights: a model that loops is stopped, and nothing is asked about no code."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.config import TargetOptions
from winnow_engine.core import Budget, Folder, Sampling
from winnow_engine.index.workspace import Sources
from winnow_engine.question import Question
from winnow_engine.targets.answer import Answer

from .assistants import opened

pytestmark = pytest.mark.real_weights

CODE = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n"


@pytest.fixture
def assistant(smollm2: Path, tmp_path: Path) -> Iterator[Assistant]:
    with opened(tmp_path, smollm2, smollm2, TargetOptions(place="cpu")) as one:
        yield one


def ask(
    assistant: Assistant,
    folder: Path,
    question: str,
    budget: Budget = Budget(),  # noqa: B008 a frozen value
) -> tuple[Answer, str]:
    heard: list[str] = []
    sources, sampling = Sources((Folder(folder),)), Sampling(max_tokens=500)
    return assistant.ask(sources, Question(question), budget, sampling, heard.append), "".join(heard)


def test_a_model_that_goes_round_in_circles_is_stopped_before_it_shows_the_copy(
    assistant: Assistant, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text(CODE)
    answer, heard = ask(assistant, tmp_path, "What is the name of each function? Repeat each forever.")
    assert (answer.finish, answer.text) == ("stop", heard.rstrip())
    assert answer.stats.generation.decode_tokens < 500
    assert "the answer ends where it began to repeat itself" in answer.notices
    sentences = [one.strip() for one in re.split(r"\n|(?<=[.!?])\s", heard) if len(one.split()) >= 5]
    assert len(sentences) == len(set(sentences))


def test_the_target_is_not_asked_without_code(assistant: Assistant, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CODE)
    answer, heard = ask(assistant, tmp_path, "What does `Unheard.of` do?", Budget(1))
    assert answer.text == heard
    assert heard.startswith("Nothing in the workspace seems to answer this.")
    assert (answer.spans, answer.stats.generation.prompt_tokens) == ((), 0)
