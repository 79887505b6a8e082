"""Heads of prompts: kept once they are read, restored for any conversation, and no answer depends on that."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.core import Cancellation, Progress, Prompt, Sampling, ignore
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.local.chat_template import LocalPrompt
from winnow_engine.targets.local.target import LlamaTarget
from winnow_engine.targets.snapshots import policy
from winnow_engine.targets.snapshots.files import default_folder
from winnow_engine.targets.snapshots.policy import SnapshotWriter

ON = TargetOptions(n_threads=1, n_ubatch=32, snapshot_bytes=1 << 30, speculate="off")
OFF = replace(ON, snapshot_bytes=None)
HEAD = np.arange(40, 110, dtype=np.int32)  # two batches and a part of one
FIRST, OTHER = (np.arange(start, start + 50, dtype=np.int32) for start in (120, 150))


@pytest.fixture(autouse=True)
def everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder of its own, and snapshots of everything, however fast the machine is."""
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(policy, "_LEAST_S", 0.0)
    monkeypatch.setattr(policy, "_GUESSED_BYTES_PER_S", 1e12)


def ask(
    target: LlamaTarget,
    question: Prompt,
    head: Prompt = HEAD,
    cancellation: Cancellation | None = None,
    progress: Callable[[Progress], None] = ignore,
) -> Generation:
    prompt = LocalPrompt(np.concatenate([head, question]), len(head))
    cancellation = cancellation or Cancellation()
    return target.generate(Request(prompt, Sampling(max_tokens=8), cancellation=cancellation, progress=progress))


def once(model: Path, question: Prompt, options: TargetOptions = ON, head: Prompt = HEAD) -> Generation:
    with closing(LlamaTarget.open(model, options)) as target:
        return ask(target, question, head)


def logits(target: LlamaTarget) -> np.ndarray:
    cache = target._session._cache
    assert cache is not None
    return cache.context.logits().copy()


def test_a_killed_process_leaves_the_head_for_every_question(model: Path) -> None:
    with closing(LlamaTarget.open(model, OFF)) as target:
        expected, rows = ask(target, OTHER), logits(target)
    with closing(LlamaTarget.open(model, ON)) as target:
        ask(target, FIRST)
        target._session._writer.finish()
        (head,) = default_folder().iterdir()  # the process may be killed now
        ask(target, OTHER)
        ask(target, FIRST, OTHER)
    assert head.exists()  # though longer ones begin with it
    for path in set(default_folder().iterdir()) - {head}:
        path.unlink()
    with closing(LlamaTarget.open(model, ON)) as target:
        again = ask(target, OTHER)
        np.testing.assert_array_equal(logits(target), rows)
    assert (again.restored_tokens, again.text) == (len(HEAD), expected.text)


def test_a_conversation_beside_memory_takes_the_head_from_disk(model: Path) -> None:
    """Also where memory holds a part of it that this model cannot cut out."""
    expected = once(model, OTHER, OFF)
    with closing(LlamaTarget.open(model, ON)) as target:
        ask(target, FIRST)
        again = ask(target, OTHER)
        assert again.reused_tokens >= len(HEAD)
        assert again.text == expected.text


@pytest.mark.parametrize("read", [32, 64])
def test_what_was_read_of_a_head_when_it_was_cancelled_is_not_lost(tiny_llama: Path, read: int) -> None:
    cancellation, expected = Cancellation(), once(tiny_llama, FIRST, OFF)

    def stop(report: Progress) -> None:
        if report.done == read:
            cancellation.cancel()
            target._session._cache.context._abort.set()

    with closing(LlamaTarget.open(tiny_llama, ON)) as target:
        assert ask(target, FIRST, cancellation=cancellation, progress=stop).finish == "cancelled"
    again = once(tiny_llama, FIRST)
    assert (again.restored_tokens, again.text) == (read, expected.text)
    assert once(tiny_llama, OTHER).restored_tokens == len(HEAD)


def test_the_first_token_does_not_wait_for_the_disk(tiny_llama: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports, save, read = list[Progress](), SnapshotWriter.save, list[int]()

    def noted(*given: object) -> None:
        read.append(reports[-1].done)
        save(*given)

    monkeypatch.setattr(SnapshotWriter, "save", noted)
    with closing(LlamaTarget.open(tiny_llama, ON)) as target:
        ask(target, FIRST, progress=reports.append)
    assert [report.done for report in reports] == [0, 32, 64, 70, 102, 120]
    assert read[0] == 120
