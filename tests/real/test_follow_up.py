"""A follow-up question on real weights: the target reads only what is new, and an edit makes it read afresh."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.core import Budget, Folder, Sampling
from winnow_engine.index.workspace import Sources
from winnow_engine.question import Question, Turn
from winnow_engine.targets.answer import Answer

from .assistants import opened

pytestmark = pytest.mark.real_weights

REPOSITORY = Path(__file__).parents[2] / "engine" / "winnow_engine" / "encoder"
FIRST = "How does the drafter cut a file's tokens into segments?"
SECOND = "And where is the longest segment set?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "drafter"
    folder.mkdir()
    for name in ("drafter.py", "file_encoder.py", "segments.py"):
        shutil.copy(REPOSITORY / name, folder)
    return folder


@pytest.fixture(scope="module")
def assistant(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    with opened(tmp_path_factory.mktemp("cache"), smollm2, smollm2) as assistant:
        yield assistant


def ask(assistant: Assistant, folder: Path, text: str, earlier: tuple[Turn, ...] = ()) -> Answer:
    question, sampling = Question(text, earlier=earlier), Sampling(max_tokens=16)
    return assistant.ask(Sources((Folder(folder),)), question, Budget(800), sampling, lambda _: None)


def test_follow_ups_read_only_what_is_new(assistant: Assistant, folder: Path) -> None:
    first = ask(assistant, folder, FIRST)
    turns = (Turn(FIRST, first.text),)
    second = ask(assistant, folder, SECOND, turns)
    assert second.stats.generation.reused_tokens >= first.stats.generation.prompt_tokens
    new_tokens = second.stats.generation.prompt_tokens - second.stats.generation.reused_tokens
    assert new_tokens < first.stats.generation.prompt_tokens / 2
    assert all(span in second.spans for span in first.spans)
    third = ask(assistant, folder, "Why?", (*turns, Turn(SECOND, second.text)))
    assert third.stats.generation.reused_tokens >= second.stats.generation.prompt_tokens


def test_an_edit_of_what_was_shown_is_seen(assistant: Assistant, folder: Path) -> None:
    first = ask(assistant, folder, FIRST)
    edited = folder / first.spans[0].path
    edited.write_text("# edited\n" + edited.read_text())
    second = ask(assistant, folder, SECOND, (Turn(FIRST, first.text),))
    assert second.stats.generation.reused_tokens < first.stats.generation.prompt_tokens / 2
