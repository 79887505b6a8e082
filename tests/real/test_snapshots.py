"""Snapshots on real weights: the same answers, whatever happened between writing and reading."""

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.assistant import Assistant
from winnow_engine.config import KvType, TargetOptions
from winnow_engine.core import Budget, Folder, Sampling
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.index.workspace import Sources
from winnow_engine.prompting.messages import Message
from winnow_engine.question import Question, Turn
from winnow_engine.storage.store import Store, default_path
from winnow_engine.targets.answer import Answer
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.local.chat_template import LocalPrompt
from winnow_engine.targets.local.target import LlamaTarget
from winnow_engine.targets.snapshots import policy
from winnow_engine.targets.snapshots.files import default_folder

pytestmark = pytest.mark.real_weights

CODE = Path(textwrap.__file__).read_text(encoding="utf-8")[:1200]
LONG = Path(textwrap.__file__).read_text(encoding="utf-8")[:2400]
FIRST = "What does this module do?"
SECOND = "Which class is in it?"
ON = TargetOptions(snapshot_bytes=1 << 30)
REPOSITORY = Path(__file__).parents[2] / "engine" / "winnow_engine"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder of its own, and snapshots of everything, however fast the machine is."""
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(policy, "_LEAST_S", 0.0)
    monkeypatch.setattr(policy, "_GUESSED_BYTES_PER_S", 1e12)


def ask(target: LlamaTarget, prompt: LocalPrompt, max_tokens: int = 32) -> Generation:
    return target.generate(Request(prompt, Sampling(max_tokens=max_tokens)))


def about_code(target: LlamaTarget, question: str) -> LocalPrompt:
    return target.chat_prompt([Message("user", f"{CODE}\n\n{question}")])


def next_logits(target: LlamaTarget, prompt: LocalPrompt) -> np.ndarray:
    ask(target, prompt, 1)
    held = target._session._cache
    assert held is not None
    return held.context.logits().copy()


@pytest.mark.parametrize("kv_type", ["f16", "q8_0"])
def test_what_comes_back_is_bit_for_bit_what_was_in_memory(smollm2: Path, kv_type: KvType) -> None:
    options = replace(ON, kv_type=kv_type, speculate="off")
    with closing(LlamaTarget.open(smollm2, options)) as target:
        first, second = about_code(target, FIRST), about_code(target, SECOND)
        ask(target, first)
        expected, answer = next_logits(target, second), ask(target, second)
    for path in default_folder().iterdir():  # what the second question left behind
        path.unlink()
    with closing(LlamaTarget.open(smollm2, options)) as target:
        ask(target, first)
    with closing(LlamaTarget.open(smollm2, options)) as target:
        np.testing.assert_array_equal(next_logits(target, second), expected)
        again = ask(target, second)
    with closing(LlamaTarget.open(smollm2, replace(options, snapshot_bytes=None))) as target:
        assert ask(target, second).restored_tokens == 0
    assert again.text == answer.text


@pytest.mark.parametrize("kv_type", ["f16", "q8_0"])
def test_a_head_is_kept_at_once_and_changes_no_answer(smollm2: Path, kv_type: KvType) -> None:
    options, system = replace(ON, kv_type=kv_type), Message("system", LONG)

    def begun(target: LlamaTarget, question: str) -> LocalPrompt:
        return target.chat_prompt([system, Message("user", question)])

    with closing(LlamaTarget.open(smollm2, replace(options, snapshot_bytes=None))) as target:
        second = begun(target, SECOND)
        expected, answer = next_logits(target, second), ask(target, second)
    with closing(LlamaTarget.open(smollm2, options)) as target:
        ask(target, begun(target, FIRST))
        target._session._writer.finish()
        (head,) = default_folder().iterdir()  # the process may be killed now
    for path in set(default_folder().iterdir()) - {head}:
        path.unlink()
    with closing(LlamaTarget.open(smollm2, options)) as target:
        assert target.unread(second) == len(second) - second.head < 100 < 400 < second.head
        np.testing.assert_array_equal(next_logits(target, second), expected)
        assert ask(target, second).text == answer.text


def test_a_restart_costs_only_the_question(smollm2: Path) -> None:
    with closing(LlamaTarget.open(smollm2, ON)) as target:
        first = ask(target, about_code(target, FIRST))
    with closing(LlamaTarget.open(smollm2, ON)) as target:
        again = ask(target, about_code(target, SECOND))
    assert again.restored_tokens == again.reused_tokens > 0.9 * first.prompt_tokens


@contextmanager
def assistant(smollm2: Path, folder: Path) -> Iterator[tuple[Assistant, Sources]]:
    """As a new process would: everything but the cache folder is new."""
    with (
        closing(Store(default_path())) as store,
        closing(
            Assistant(store, lambda: Drafter(smollm2), lambda: LlamaTarget.open(smollm2, ON), remember=True)
        ) as one,
    ):
        yield one, Sources((Folder(folder),))


def answered(one: tuple[Assistant, Sources], text: str, *earlier: Turn) -> Answer:
    helper, sources = one
    return helper.ask(sources, Question(text, earlier=earlier), Budget(300), Sampling(max_tokens=8), lambda _: None)


def test_a_conversation_goes_on_after_a_restart_and_after_others(smollm2: Path) -> None:
    folder = REPOSITORY / "review"
    how, why = "How are problems put to lines of a file?", "And why?"
    with assistant(smollm2, folder) as one:
        first = answered(one, how)
    with assistant(smollm2, folder) as one:
        second = answered(one, why, Turn(how, first.text))
        assert second.stats.generation.restored_tokens >= first.stats.generation.prompt_tokens
        assert all(span in second.spans for span in first.spans)
        answered(one, "What is a gate?")
        third = answered(one, "Where?", Turn(how, first.text), Turn(why, second.text))
        assert third.stats.generation.restored_tokens > 0
        assert third.stats.generation.reused_tokens >= second.stats.generation.prompt_tokens


def test_the_command_keeps_them_too_and_deletes_them_where_they_have_no_room(smollm2: Path, tmp_path: Path) -> None:
    def winnow(*arguments: str) -> str:
        command = [sys.executable, "-m", "winnow_lsp", *arguments]
        environment = {**os.environ, "WINNOW_CACHE_DIR": str(tmp_path / "own")}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout

    models = ("--drafter", "smollm2-135m", "--target", "smollm2-135m")
    question = ("ask", "Where is a prompt built?", "-w", str(REPOSITORY / "review"), "--budget", "300")
    first, again, off = (
        json.loads(winnow(*question, *models, "--set", "maxTokens=4", "--json", *more))["stats"]
        for more in ((), (), ("--set", "cacheMegabytes=1"))
    )
    assert first["restored_tokens"] == off["restored_tokens"] == 0
    assert again["restored_tokens"] == again["reused_tokens"] == first["prompt_tokens"] - 1
    assert not list((tmp_path / "own" / "snapshots").iterdir())
