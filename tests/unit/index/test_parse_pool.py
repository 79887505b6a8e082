"""Analysing in processes: the same records, in order, whatever becomes of the processes."""

from __future__ import annotations

import os
import re
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from multiprocessing.connection import Connection
from pathlib import Path

import psutil
import pytest

from winnow_engine.core import Cancellation
from winnow_engine.errors import CancelledError
from winnow_engine.index import parse_pool, parse_worker
from winnow_engine.index.parse_pool import ParsePool
from winnow_engine.index.parse_worker import Text
from winnow_engine.index.records import analysed as analysed_here
from winnow_engine.index.records import analysis_of
from winnow_engine.storage.packs import Record

SAMPLES = sorted((Path(__file__).parent / "samples").iterdir())


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> list[Text]:
    """A file of every language, which counts as more than is analysed without processes."""
    monkeypatch.setattr(parse_pool, "SMALL_BYTES", 2000)
    return [(path.name, path.read_bytes()) for path in SAMPLES if path.is_file()]


@pytest.fixture
def pool() -> Iterator[ParsePool]:
    with closing(ParsePool(2)) as made:
        made.start()
        yield made


def analysed(pool: ParsePool, texts: list[Text]) -> list[Record]:
    return list(pool.analysed(texts, size(texts), Cancellation()))


def size(texts: list[Text]) -> int:
    return sum(len(data) for _, data in texts)


def same(found: list[Record], texts: list[Text]) -> None:
    assert len(found) == len(texts)
    for record, text in zip(found, texts, strict=True):
        assert analysis_of(record) == analysis_of(analysed_here(*text))


def children() -> list[psutil.Process]:
    """The analysing processes of this one: those that have a parent among its children."""
    module = "winnow_engine.index.parse_worker"
    return [below for child in psutil.Process().children() for below in child.children() if module in below.cmdline()]


def test_processes_find_what_this_one_would(pool: ParsePool, texts: list[Text]) -> None:
    same(analysed(pool, texts), texts)
    assert not pool.notices


def test_a_killed_process_is_replaced(pool: ParsePool, texts: list[Text]) -> None:
    same(analysed(pool, texts), texts)
    victims = children()
    assert victims
    for victim in victims:
        os.kill(victim.pid, signal.SIGKILL)
    same(analysed(pool, texts), texts)
    assert not pool.notices
    assert not {one.pid for one in victims} & {one.pid for one in children()}


def test_processes_killed_all_the_time_lose_nothing(pool: ParsePool, texts: list[Text]) -> None:
    over = threading.Event()

    def kill() -> None:
        for _ in range(4):
            if over.wait(0.7):
                return
            with suppress(psutil.Error):
                for victim in children()[:1]:
                    victim.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        found = [analysed(pool, texts) for _ in range(3)]
    finally:
        over.set()
        killer.join()
    for records in found:
        assert [record["units"][-1, 2] for record in records] == [len(data) for _, data in texts]


def _fragile(connection: Connection, poison: bytes) -> None:
    """Serve as an analysing process does, but die of files with the poison."""

    class Dies(Connection):
        def recv_bytes(self, maxlength: int | None = None) -> bytes:
            received = super().recv_bytes(maxlength)
            if poison in received:
                raise EOFError
            return received

    with Dies(os.dup(connection.fileno())) as fragile:
        connection.close()
        parse_worker._serve(fragile)


def _started(count: int) -> Iterator[parse_pool._Worker]:
    for _ in range(count):
        mine, theirs = socket.socketpair()
        connection = Connection(theirs.detach())
        threading.Thread(target=_fragile, args=(connection, b"POISON"), daemon=True).start()
        yield parse_pool._Worker(Connection(mine.detach()))


def test_a_file_that_no_process_survives_is_plain_text(texts: list[Text], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse_pool, "_started", _started)
    poisoned = ("crash.py", b"def f():\n    return 'POISON'\n")
    with closing(ParsePool(2)) as pool:
        pool.start()
        *others, last = analysed(pool, [*texts, poisoned])
        same(others, texts)
        assert not analysis_of(last).symbols.definitions
        assert pool.notices == ["crash.py is taken for text in no language: its grammar crashed or did not end"]


@pytest.mark.parametrize(
    ("program", "notice"),
    [
        ("/bin/false", "files are parsed by one process, because others end as soon as they start"),
        ("/nowhere/python", ".*No such file.*"),
    ],
)
def test_where_no_process_starts_all_is_analysed_here(
    program: str, notice: str, texts: list[Text], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parse_pool.sys, "executable", program)
    with closing(ParsePool(2)) as pool:
        pool.start()
        same(analysed(pool, texts), texts)
        (said,) = pool.notices
        assert re.fullmatch(notice, said)


def test_cancelling_ends_it_and_leaves_the_pool_usable(pool: ParsePool, texts: list[Text]) -> None:
    cancellation = Cancellation()
    records = pool.analysed(texts * 10, 10 * size(texts), cancellation)
    next(records)
    cancellation.cancel()
    with pytest.raises(CancelledError):
        list(records)
    same(analysed(pool, texts), texts)


def test_the_processes_end_with_the_pool(texts: list[Text]) -> None:
    with closing(ParsePool(2)) as pool:
        pool.start()
        analysed(pool, texts)
        there = children()
        assert len(there) == 2
    gone, alive = psutil.wait_procs(there, timeout=120)
    assert not alive
    assert len(gone) == 2


def test_a_file_of_the_working_directory_is_no_module(
    texts: list[Text], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tree_sitter.py").write_text("raise SystemExit(1)\n")
    (tmp_path / "numpy.py").write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    with closing(ParsePool(2)) as pool:
        pool.start()
        same(analysed(pool, texts), texts)
        assert not pool.notices
