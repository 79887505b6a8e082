"""Prefill throughput: measured here, else by an earlier process, else a guess."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.core import Progress, Prompt, Sampling
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.local.chat_template import LocalPrompt
from winnow_engine.targets.local.target import LlamaTarget
from winnow_engine.targets.snapshots import policy
from winnow_engine.targets.throughput import PrefillThroughput, assumed_token_s

OPTIONS = TargetOptions(n_threads=1, n_ubatch=32, snapshot_bytes=1 << 30)
PROMPT = np.arange(40, 200, dtype=np.int32)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder of its own, and snapshots of everything."""
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(policy, "_LEAST_S", 0.0)


def ask(target: LlamaTarget, prompt: Prompt = PROMPT) -> Generation:
    return target.generate(Request(LocalPrompt(prompt), Sampling(max_tokens=4)))


def test_a_quicker_reading_counts_more_than_a_slower_one() -> None:
    throughput = PrefillThroughput()
    throughput.learn(0, 100, 1.0)
    assert throughput.token_s == pytest.approx(0.01)
    throughput.learn(0, 100, 2.0)
    slower = throughput.token_s
    throughput.learn(0, 100, 0.5)
    assert slower is not None
    assert throughput.token_s is not None
    assert 0.01 < slower < 0.012
    assert throughput.token_s < (0.01 + slower) / 2


def test_a_larger_model_and_fewer_cores_are_assumed_to_read_slower() -> None:
    throughput = PrefillThroughput()
    throughput.assume(1_777_088_000, 2)
    assert 1 / throughput.assumed_s == pytest.approx(168, abs=1)
    throughput.assume(1_777_088_000, 4)
    assert 1 / throughput.assumed_s == pytest.approx(2 * 168, abs=1)
    throughput.assume(4 * 1_777_088_000, 4)
    assert 1 / throughput.assumed_s == pytest.approx(118, abs=1)
    assert throughput.token_s is None


def assumed(target: LlamaTarget) -> float:
    return 1 / assumed_token_s(target._session._model.parameters, OPTIONS.threads)


def seconds(target: LlamaTarget, start: int, end: int) -> float:
    rate = target.prefill_tokens_per_s
    assert rate is not None
    return target._session.throughput.seconds(start, end, 1 / rate)


def test_a_cpus_throughput_is_assumed_until_it_has_read_a_prompt(tiny_llama: Path) -> None:
    with closing(LlamaTarget.open(tiny_llama, OPTIONS)) as target:
        assert target.prefill_tokens_per_s == pytest.approx(assumed(target))
        answer = ask(target)
        assert seconds(target, 0, len(PROMPT)) == pytest.approx(answer.prefill_s)


def test_the_next_process_recalls_it(tiny_llama: Path) -> None:
    with closing(LlamaTarget.open(tiny_llama, OPTIONS)) as target:
        ask(target)
        seen = target.prefill_tokens_per_s
    with closing(LlamaTarget.open(tiny_llama, OPTIONS)) as target:
        assert target.prefill_tokens_per_s == pytest.approx(seen)
    with closing(LlamaTarget.open(tiny_llama, replace(OPTIONS, snapshot_bytes=None))) as target:
        assert target.prefill_tokens_per_s == pytest.approx(assumed(target))


def test_only_what_is_not_in_memory_takes_time(tiny_llama: Path) -> None:
    longer, other = np.concatenate([PROMPT, PROMPT[:40]]), PROMPT[::-1].copy()
    with closing(LlamaTarget.open(tiny_llama, replace(OPTIONS, snapshot_bytes=None))) as target:
        assert target.seconds_to_read(LocalPrompt(PROMPT)) == pytest.approx(seconds(target, 0, len(PROMPT)))
        ask(target)
        for prompt, unread in ((PROMPT, 1), (longer, 40), (other, len(other))):
            expected = seconds(target, len(prompt) - unread, len(prompt))
            assert target.seconds_to_read(LocalPrompt(prompt)) == pytest.approx(expected)


def test_while_it_reads_it_tells_how_long_the_rest_takes(tiny_llama: Path) -> None:
    told: list[Progress] = []
    with closing(LlamaTarget.open(tiny_llama, OPTIONS)) as target:
        target.generate(Request(LocalPrompt(PROMPT), Sampling(max_tokens=1), progress=told.append))
        attention_s = target._session.throughput.attention_s
    first, *parts = told
    assert first.left_s is None
    assert [part.done for part in parts] == [32, 64, 96, 128, 160]
    for part in parts:
        left = len(PROMPT) - part.done
        later = attention_s * left * len(PROMPT) / 2
        assert part.left_s == pytest.approx(part.elapsed_s * left / part.done + later)
