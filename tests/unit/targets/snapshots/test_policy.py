"""A session whose memory goes to disk and comes back, on tiny models: a transformer, a recurrent one and a hybrid."""

import logging
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.core import Prompt, Sampling
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.local import session
from winnow_engine.targets.local.chat_template import LocalPrompt
from winnow_engine.targets.local.target import LlamaTarget
from winnow_engine.targets.snapshots import policy
from winnow_engine.targets.snapshots.files import default_folder, used_bytes
from winnow_engine.targets.suggesting import measured_token_s
from winnow_engine.targets.throughput import PrefillThroughput

OPTIONS = TargetOptions(n_threads=1, n_ubatch=32, snapshot_bytes=1 << 30)
SHORT = Sampling(max_tokens=24)
FIRST = np.arange(40, 200, dtype=np.int32)
SECOND = np.arange(60, 220, dtype=np.int32)


@pytest.fixture(autouse=True)
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder of its own, and a target that takes a second per token, so that everything is worth saving."""
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    a_second_each(monkeypatch)


def a_second_each(monkeypatch: pytest.MonkeyPatch, token_s: float = 1.0) -> None:
    monkeypatch.setattr(
        PrefillThroughput, "learn", lambda self, start, end, seconds: setattr(self, "measured_s", token_s)
    )


def ask(target: LlamaTarget, prompt: Prompt, sampling: Sampling = SHORT, head: int = 0) -> Generation:
    return target.generate(Request(LocalPrompt(prompt, head), sampling))


def once(model: Path, prompt: Prompt, options: TargetOptions = OPTIONS) -> Generation:
    with closing(LlamaTarget.open(model, options)) as target:
        return ask(target, prompt)


def longer(model: Path, prompt: Prompt) -> Prompt:
    """A prompt that goes on where memory ends after `prompt`: behind all tokens of its answer but the last."""
    with closing(LlamaTarget.open(model, replace(OPTIONS, snapshot_bytes=None))) as target:
        ask(target, prompt)
        held = target._session._cache
        assert held is not None
        return np.concatenate([held.tokens, np.arange(70, 90, dtype=np.int32)])


def test_after_a_restart_a_prompt_that_goes_on_is_read_from_where_it_ended(model: Path) -> None:
    prompt = longer(model, FIRST)
    expected = once(model, prompt, replace(OPTIONS, snapshot_bytes=None))
    assert expected.restored_tokens == 0
    once(model, FIRST)
    again = once(model, prompt)
    assert again.restored_tokens == again.reused_tokens == len(prompt) - 20
    assert again.text == expected.text


def test_a_conversation_is_taken_up_again_after_another_question(model: Path) -> None:
    prompt = longer(model, FIRST)
    expected = once(model, prompt, replace(OPTIONS, snapshot_bytes=None))
    with closing(LlamaTarget.open(model, OPTIONS)) as target:
        ask(target, FIRST)
        assert ask(target, SECOND).restored_tokens == 0
        again = ask(target, prompt)
        assert again.restored_tokens == len(prompt) - 20
        assert again.text == expected.text


def test_a_prompt_that_differs_midway_gets_its_common_part(tiny_llama: Path) -> None:
    other = np.concatenate([FIRST[:100], SECOND[:50]])
    expected = once(tiny_llama, other, replace(OPTIONS, snapshot_bytes=None))
    once(tiny_llama, FIRST)
    again = once(tiny_llama, other)
    assert (again.restored_tokens, again.text) == (100, expected.text)


@pytest.mark.parametrize("asked_before", [False, True])
def test_one_too_long_for_the_context_gets_a_larger_one(
    tiny_llama: Path, asked_before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "_CONTEXT_STEP", 64)
    monkeypatch.setattr(session, "_HEADROOM", 0)
    once(tiny_llama, FIRST)
    short = np.concatenate([FIRST[:50], SECOND[:10]])
    expected = once(tiny_llama, short, replace(OPTIONS, snapshot_bytes=None))
    with closing(LlamaTarget.open(tiny_llama, OPTIONS)) as target:
        if asked_before:
            ask(target, SECOND[:30])
        assert target.unread(LocalPrompt(short)) == 10
        again = ask(target, short)
        assert (again.restored_tokens, again.text) == (50, expected.text)


def test_recurrent_memory_comes_back_only_for_prompts_that_hold_all_of_it(tiny_mamba: Path) -> None:
    once(tiny_mamba, FIRST)
    assert once(tiny_mamba, np.concatenate([FIRST, SECOND])).restored_tokens == 0


def test_off_means_off(tiny_llama: Path) -> None:
    once(tiny_llama, FIRST)
    assert used_bytes(default_folder())[0] == 1
    once(tiny_llama, FIRST, replace(OPTIONS, snapshot_bytes=None))
    assert used_bytes(default_folder())[0] == 1
    assert once(tiny_llama, FIRST, replace(OPTIONS, snapshot_bytes=0)).restored_tokens == 0
    assert used_bytes(default_folder()) == (0, 0)


HARM: dict[str, Callable[[Path, bytes], object]] = {
    "overwritten": lambda path, data: path.write_bytes(data[:-100] + bytes([data[-100] ^ 0xFF]) + data[-99:]),
    "cut": lambda path, data: path.write_bytes(data[:-1]),
    "gone": lambda path, _: path.unlink(),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_snapshot_that_is_not_sound_costs_only_the_time(
    tiny_llama: Path, harm: str, caplog: pytest.LogCaptureFixture
) -> None:
    first = once(tiny_llama, FIRST)
    (path,) = default_folder().iterdir()
    HARM[harm](path, path.read_bytes())
    with caplog.at_level(logging.WARNING):
        again = once(tiny_llama, FIRST)
    assert (again.restored_tokens, again.text) == (0, first.text)
    assert ("snapshot" in caplog.text) == (harm != "gone")
    assert once(tiny_llama, FIRST).restored_tokens == len(FIRST) - 1  # it was kept anew


def test_suggestions_know_how_fast_a_target_has_read(tiny_llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "build_note", lambda: ["a build of our own"])
    once(tiny_llama, FIRST)
    assert measured_token_s(tiny_llama) == 1.0


def test_a_state_that_llama_cpp_refuses_costs_only_the_time(
    tiny_llama: Path, tiny_mamba: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(policy, "made_by", lambda *_: "any")
    expected = once(tiny_llama, FIRST, replace(OPTIONS, snapshot_bytes=None))
    once(tiny_mamba, FIRST)
    with caplog.at_level(logging.WARNING):
        again = once(tiny_llama, FIRST)
    assert (again.reused_tokens, again.text) == (0, expected.text)
    assert "llama.cpp does not take it" in caplog.text


def test_a_disk_that_refuses_costs_only_the_time(
    tiny_llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "file"))
    with caplog.at_level(logging.WARNING):
        assert once(tiny_llama, FIRST).finish == "length"
    assert "no snapshot can be kept" in caplog.text


@pytest.mark.parametrize("ending", ["", "raise SystemExit", "target.close()"])
def test_a_process_that_ends_in_order_leaves_what_it_has_read(tiny_llama: Path, ending: str) -> None:
    script = f"""
import pathlib, numpy as np
from winnow_engine.targets.snapshots import policy
from winnow_engine.core import Sampling
from winnow_engine.targets.base import Request
from winnow_engine.targets.local.chat_template import LocalPrompt
from winnow_engine.targets.local.target import LlamaTarget
from winnow_engine.config import TargetOptions
policy._LEAST_S = 0.0
target = LlamaTarget.open(pathlib.Path({str(tiny_llama)!r}), TargetOptions(snapshot_bytes=1 << 30))
target.generate(Request(LocalPrompt(np.arange(40, 200, dtype=np.int32)), Sampling(max_tokens=4)))
{ending}
"""
    child = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")
    assert used_bytes(default_folder())[0] == 1
    assert once(tiny_llama, FIRST).restored_tokens == len(FIRST) - 1


@pytest.mark.parametrize(("token_s", "bytes_s"), [(1e-4, 1e8), (1.0, 100.0)])
def test_what_is_quick_to_read_is_not_written(
    tiny_llama: Path, monkeypatch: pytest.MonkeyPatch, token_s: float, bytes_s: float
) -> None:
    a_second_each(monkeypatch, token_s)
    monkeypatch.setattr(policy, "_BYTES", bytes_s)
    once(tiny_llama, FIRST)
    assert used_bytes(default_folder()) == (0, 0)


def test_what_takes_longer_to_load_than_to_read_is_left(tiny_llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    once(tiny_llama, FIRST)
    monkeypatch.setattr(policy, "_GUESSED_BYTES_PER_S", 1.0)
    assert once(tiny_llama, FIRST).restored_tokens == 0
