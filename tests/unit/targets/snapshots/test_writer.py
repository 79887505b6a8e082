"""Only closing the target waits for the disk. What is on its way there is found, and arrives complete."""

import logging
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.config import Place, TargetOptions
from winnow_engine.core import Cancellation, Prompt, Sampling
from winnow_engine.errors import SnapshotError
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.local.chat_template import LocalPrompt
from winnow_engine.targets.local.target import LlamaTarget
from winnow_engine.targets.snapshots.files import Snapshot, Snapshots, default_folder, used_bytes
from winnow_engine.targets.snapshots.policy import SnapshotWriter
from winnow_engine.targets.throughput import PrefillThroughput

PROMPTS = [np.arange(start, start + 150, dtype=np.int32) for start in (40, 50, 60, 70)]
PLENTY = 1 << 30


class Disk:
    """A disk that waits until a test lets it go. `written` has the first token of each prompt that was written."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached, self.goes = threading.Event(), threading.Event()
        self.written: list[int] = []
        self._save = Snapshots.save
        monkeypatch.setattr(Snapshots, "save", lambda snapshots, snapshot: self.save(snapshots, snapshot))

    def save(self, snapshots: Snapshots, snapshot: Snapshot) -> None:
        self.reached.set()
        self.goes.wait(60)
        self._save(snapshots, snapshot)
        self.written.append(int(snapshot.tokens[0]))


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(PrefillThroughput, "learn", lambda self, start, end, seconds: setattr(self, "measured_s", 1.0))
    disk = Disk(monkeypatch)
    yield disk
    disk.goes.set()


def opened(model: Path, place: Place = "resident") -> LlamaTarget:
    return LlamaTarget.open(model, TargetOptions(n_threads=1, n_ubatch=32, snapshot_bytes=PLENTY, place=place))


def ask(target: LlamaTarget, prompt: Prompt) -> Generation:
    return target.generate(Request(LocalPrompt(prompt), Sampling(max_tokens=4)))


def test_neither_a_cancel_nor_the_next_question_waits_for_the_disk(tiny_llama: Path, disk: Disk) -> None:
    with closing(opened(tiny_llama)) as target:
        first, cancellation = ask(target, PROMPTS[0]), Cancellation()
        endless = Sampling(max_tokens=3000)
        cancelled = target.generate(
            Request(LocalPrompt(PROMPTS[1]), endless, lambda _: cancellation.cancel(), cancellation)
        )
        assert cancelled.finish == "cancelled"
        again = ask(target, PROMPTS[0])
        assert (again.restored_tokens, again.text) == (len(PROMPTS[0]) - 1, first.text)
        assert disk.reached.wait(60)
        assert not disk.written
        disk.goes.set()
    assert disk.written == [40, 50]
    with closing(opened(tiny_llama)) as target:
        assert ask(target, PROMPTS[1]).restored_tokens == len(PROMPTS[1]) - 1


def test_closing_waits_until_all_is_on_disk(tiny_llama: Path, disk: Disk) -> None:
    target = opened(tiny_llama)
    ask(target, PROMPTS[0])

    def close() -> None:
        target.close()
        disk.written.append(-1)

    closing_it = threading.Thread(target=close)
    closing_it.start()
    assert disk.reached.wait(60)
    disk.goes.set()
    closing_it.join()
    assert disk.written == [40, -1]
    assert used_bytes(default_folder())[0] == 1
    assert [path.suffix for path in default_folder().iterdir()] == [".safetensors"]


def test_of_what_waits_for_a_slow_disk_the_newest_is_kept(disk: Disk, tmp_path: Path) -> None:
    writer, snapshots = SnapshotWriter(), Snapshots(tmp_path / "kept", PLENTY, "model")
    for prompt in PROMPTS:
        writer.save(snapshots, Snapshot(prompt, np.zeros(9, np.uint8), 1.0))
    other = Snapshots(tmp_path / "kept", PLENTY, "other")
    assert [found.tokens[0] for found in writer.unsaved(snapshots)] == [40, 70]
    assert writer.unsaved(other) == []
    disk.goes.set()
    writer.finish()
    assert disk.written == [40, 70]
    assert writer.unsaved(snapshots) == []


def test_one_that_fails_is_logged_and_the_next_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    writer, snapshots, save = SnapshotWriter(), Snapshots(tmp_path / "kept", PLENTY, "model"), Snapshots.save
    waits, failing = threading.Event(), iter([True, False])

    def fails_once(self: Snapshots, snapshot: Snapshot) -> None:
        waits.wait()
        if next(failing):
            raise SnapshotError("the disk is full")
        save(self, snapshot)

    monkeypatch.setattr(Snapshots, "save", fails_once)
    with caplog.at_level(logging.WARNING):
        for prompt in PROMPTS[:2]:
            writer.save(snapshots, Snapshot(prompt, np.zeros(9, np.uint8), 1.0))
        waits.set()
        writer.finish()
    assert "the disk is full" in caplog.text
    assert used_bytes(tmp_path / "kept")[0] == 1
