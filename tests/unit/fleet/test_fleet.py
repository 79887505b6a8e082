"""Chunks go to workers and come back in order, whatever becomes of the workers."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow_engine.core import Cancellation
from winnow_engine.encoder.file_encoder import FileKeys, FileText
from winnow_engine.errors import CancelledError, ModelDamagedError
from winnow_engine.fleet import fleet
from winnow_engine.fleet.fleet import Fleet, Texts, WorkerLostError, chunks

FILES = [FileText(f"f{number}", ("x" * number,)) for number in range(1, 60)]


def keys_of(file: FileText) -> FileKeys:
    return FileKeys(np.array([len(unit) for unit in file.units], np.int32), {})


class Here:
    """A worker in this process. `fate` is called before each chunk that it answers."""

    def __init__(self, fate: Callable[[], None] = lambda: None) -> None:
        self._sent: deque[Texts] = deque()
        self._fate, self.closed = fate, False

    def start(self) -> None:
        pass

    def send(self, texts: Texts) -> None:
        self._sent.append(texts)

    def receive(self) -> list[FileKeys]:
        self._fate()
        return [keys_of(file) for file in self._sent.popleft()]

    def close(self) -> None:
        self.closed = True


def here(texts: Texts) -> list[FileKeys]:
    return [keys_of(file) for file in texts]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fleet.CHUNK_CHARACTERS, "cpu", 100)


def encoded(made: Fleet, cancellation: Cancellation | None = None) -> list[int]:
    found = made.encode(iter(FILES), cancellation or Cancellation())
    return [int(keys.unit_tokens[0]) for keys in found]


LENGTHS = list(range(1, 60))


@given(st.lists(st.integers(0, 300), max_size=30), st.integers(1, 200))
def test_chunks_hold_every_file_once_in_order(lengths: list[int], most: int) -> None:
    files = [FileText(str(number), ("x" * length,)) for number, length in enumerate(lengths)]
    dealt = list(chunks(files, most))
    assert [file for chunk in dealt for file in chunk] == files
    assert all(sum(file.characters for file in chunk[:-1]) < most for chunk in dealt)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_files_come_back_in_order(count: int) -> None:
    with closing(Fleet(count, lambda _: Here(lambda: time.sleep(0.002)), here, "cpu")) as made:
        assert encoded(made) == LENGTHS
        assert encoded(made) == LENGTHS  # and the workers are still there
        assert not made.notices


def test_a_lost_worker_is_replaced_and_its_work_done_again() -> None:
    answers = 0

    def dies() -> None:
        nonlocal answers
        answers += 1
        if answers % 5 == 0:
            raise WorkerLostError("killed")

    opened: list[Here] = []

    def open_worker(_: int) -> Here:
        opened.append(Here(dies))
        return opened[-1]

    with closing(Fleet(2, open_worker, here, "cpu")) as made:
        assert encoded(made) == LENGTHS
        assert made.notices
        assert "was lost: killed" in made.notices[0]
    assert len(opened) > 2
    assert all(worker.closed for worker in opened)


def test_without_any_worker_all_is_encoded_here() -> None:
    def open_worker(_: int) -> Here:
        raise WorkerLostError("no such program")

    with closing(Fleet(3, open_worker, here, "cpu")) as made:
        assert encoded(made) == LENGTHS


def test_a_chunk_that_no_worker_survives_is_encoded_here() -> None:
    class Dies(Here):
        def receive(self) -> list[FileKeys]:
            if any(file.path == "f30" for file in self._sent[0]):
                raise WorkerLostError("crashed")
            return super().receive()

    done_here: list[str] = []

    def record(texts: Texts) -> list[FileKeys]:
        done_here.extend(file.path for file in texts)
        return here(texts)

    with closing(Fleet(4, lambda _: Dies(), record, "cpu")) as made:
        assert encoded(made) == LENGTHS
    assert "f30" in done_here


def test_what_encoding_raises_is_raised() -> None:
    def fails() -> None:
        raise ZeroDivisionError("a bug")

    with closing(Fleet(2, lambda _: Here(fails), here, "cpu")) as made, pytest.raises(ZeroDivisionError, match="a bug"):
        encoded(made)


def test_what_keeps_a_drafter_from_loading_is_raised() -> None:
    class Damaged(Here):
        def start(self) -> None:
            raise ModelDamagedError("half a file")

    with closing(Fleet(2, lambda _: Damaged(), here, "cpu")) as made, pytest.raises(ModelDamagedError, match="half"):
        encoded(made)


def test_cancelling_does_not_wait_for_workers() -> None:
    answer, cancellation = threading.Event(), Cancellation()

    def waits() -> None:
        answer.wait(60)

    with closing(Fleet(2, lambda _: Here(waits), here, "cpu")) as made:
        threading.Timer(0.2, cancellation.cancel).start()
        try:
            with pytest.raises(CancelledError):
                encoded(made, cancellation)
        finally:
            answer.set()
        assert encoded(made) == LENGTHS


def test_files_are_not_read_far_ahead() -> None:
    read = 0

    def endless() -> Any:
        nonlocal read
        while True:
            read += 1
            yield FileText("f", ("x" * 100,))

    with closing(Fleet(2, lambda _: Here(), here, "cpu")) as made:
        files = made.encode(endless(), Cancellation())
        next(files)
        assert read < 20
        files.close()  # type: ignore[attr-defined]
