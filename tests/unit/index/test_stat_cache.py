"""Files that did not change are not read again, and every change is noticed."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from clock import Clock

from winnow_engine.core import Cancellation, Folder
from winnow_engine.index import files
from winnow_engine.index.stat_cache import Content, StatCache
from winnow_engine.index.workspace import Sources, Workspace, read_workspace
from winnow_engine.storage.store import Store, content_key

LATER_S = 10.0
Again = Callable[[], dict[str, bytes]]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the source files that are opened."""
    opened: list[str] = []
    original = files.read_regular

    def read(path: Path, limit: int) -> bytes:
        opened.append(path.name)
        return original(path, limit)

    monkeypatch.setattr(files, "read_regular", read)
    return opened


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").write_bytes(b"a = 1\n")
    (root / "b.py").write_bytes(b"b = 1\n")
    (root / "made.py").write_bytes(b"# @generated\nc = 1\n")
    return root


@pytest.fixture
def again(root: Path, tmp_path: Path, clock: Clock) -> Again:
    """Reads the workspace, each time later, with what it was before; the contents by path."""
    last: list[Workspace] = [Workspace((), StatCache(clock))]

    def read() -> dict[str, bytes]:
        with closing(Store(tmp_path / "cache.sqlite")) as store:
            last.append(read_workspace(Sources((Folder(root),)), store, Cancellation(), last[-1]))
        clock.now += LATER_S
        return {file.path: file.data for file in last[-1].files}

    return read


def test_what_did_not_change_is_read_twice_and_never_again(again: Again, reads: list[str]) -> None:
    for _ in range(4):
        assert list(again()) == ["a.py", "b.py"]
    assert sorted(reads) == sorted(2 * ["a.py", "b.py", "made.py"])


def test_a_change_that_keeps_size_and_time_is_noticed(again: Again, root: Path, reads: list[str]) -> None:
    for _ in range(3):
        again()
    before = (root / "a.py").stat()
    (root / "a.py").write_bytes(b"a = 2\n")
    os.utime(root / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))
    reads.clear()
    assert again()["a.py"] == b"a = 2\n"
    assert reads == ["a.py"]


def test_a_file_that_takes_the_place_of_another_is_noticed(again: Again, root: Path) -> None:
    (root / "other.txt").write_bytes(b"b = 2\n")
    status = (root / "b.py").stat()
    os.utime(root / "other.txt", ns=(status.st_atime_ns, status.st_mtime_ns))
    for _ in range(3):
        again()
    (root / "other.txt").replace(root / "b.py")
    assert again() == {"a.py": b"a = 1\n", "b.py": b"b = 2\n"}


def test_a_file_written_twice_within_a_tick_is_read_until_the_tick_is_over(root: Path, clock: Clock) -> None:
    memory, status, written = StatCache(clock), (root / "a.py").stat(), [b"a = 1\n"]

    def look(at_s: float) -> str:
        clock.now = at_s
        with memory.reading():
            return memory.content(str(root), "a.py", False, status, lambda: Content.of("a.py", written[-1])).key

    assert look(0.0) == content_key("a.py", b"a = 1\n")
    written.append(b"a = 2\n")  # the clock of the file system has not moved: `status` is the same
    assert look(0.5) == content_key("a.py", b"a = 2\n")
    written.append(b"a = 3\n")
    assert look(1.9) == content_key("a.py", b"a = 3\n")
    assert look(4.0) == content_key("a.py", b"a = 3\n")
    written.append(b"no clock stands still for four seconds")
    assert look(5.0) == content_key("a.py", b"a = 3\n")


def test_a_file_of_which_the_system_tells_nothing_is_read_each_time(clock: Clock) -> None:
    memory, status, read = StatCache(clock), Path("/proc/self/status").stat(), [0]

    def content() -> Content:
        read[0] += 1
        return Content.of("status", b"not what the size says")

    for at_s in (0.0, 5.0, 10.0, 15.0):
        clock.now = at_s
        with memory.reading():
            memory.content("/proc/self", "status", False, status, content)
    assert read == [4]
