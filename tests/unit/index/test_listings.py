"""Directories that did not change are not looked at again, and whatever is done, the index is one made from scratch."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from winnow_engine.core import Cancellation, Folder
from winnow_engine.errors import FileChangedError
from winnow_engine.index import files, inotify, listings
from winnow_engine.index.files import scan
from winnow_engine.index.inotify import Inotify
from winnow_engine.index.stat_cache import FileMemory
from winnow_engine.index.workspace import Sources, Workspace, read_workspace
from winnow_engine.storage.store import Store

pytestmark = pytest.mark.skipif(not Path("/proc/sys/fs/inotify").exists(), reason="only Linux has inotify")

STEP_S = 4.0  # what is read is trusted, and not read again, when the tick of a clock is over


class Reader:
    """Reads a workspace again and again, as a server does."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.root, self._store, self._now = root, Store(cache), 0.0
        self.last = Workspace((), FileMemory(lambda: self._now))

    def read(self, opened: dict[str, bytes] | None = None) -> dict[str, bytes]:
        sources = Sources((Folder(self.root),), open_documents=opened or {})
        self.last = read_workspace(sources, self._store, Cancellation(), self.last)
        self._now += STEP_S
        return {file.path: file.data for file in self.last.files}

    def close(self) -> None:
        self._store.close()


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    monkeypatch.setattr(listings, "_TRUSTED_S", 1e9)
    root = tmp_path / "root"
    for name in ("a", "b", "b/c"):
        (root / name).mkdir(parents=True)
        for number in range(2):
            (root / name / f"f{number}.py").write_text(f"x = {number}\n")
    with closing(Reader(root, tmp_path / "cache.sqlite")) as made:
        for _ in range(3):
            made.read()
        yield made


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the directories that are listed."""
    found: list[str] = []
    original = os.scandir

    def scandir(place: str | Path) -> os._ScandirIterator[str]:
        if isinstance(place, str):  # the others are roots, of which it is only asked whether they can be read
            found.append(Path(place).name)
        return original(place)

    monkeypatch.setattr(files.os, "scandir", scandir)
    return found


def from_scratch(root: Path) -> dict[str, bytes]:
    return {file.path: file.data for file in scan(root)}


def test_what_did_not_change_is_not_looked_at(reader: Reader, looked_at: list[str]) -> None:
    assert len(reader.read()) == 6
    assert looked_at == []


def test_of_what_changed_only_its_directory_is(reader: Reader, looked_at: list[str]) -> None:
    (reader.root / "b" / "c" / "f1.py").write_text("x = 'other'\n")
    assert reader.read()["b/c/f1.py"] == b"x = 'other'\n"
    assert looked_at == ["c"]
    looked_at.clear()
    assert reader.read({"a/f0.py": b"x = 'typed'\n", "a/new.py": b"y = 1\n"})["a/new.py"] == b"y = 1\n"
    assert looked_at == []


def test_a_change_that_keeps_size_and_time_is_noticed(reader: Reader) -> None:
    path = reader.root / "a" / "f0.py"
    before = path.stat()
    path.write_text("x = 7\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert reader.read()["a/f0.py"] == b"x = 7\n"


def test_another_root_in_its_place_is_looked_at(reader: Reader) -> None:
    reader.root.rename(reader.root.parent / "elsewhere")
    (reader.root / "a").mkdir(parents=True)
    (reader.root / "a" / "f0.py").write_text("x = 'new'\n")
    assert reader.read() == {"a/f0.py": b"x = 'new'\n"}


def test_what_git_excludes_since_then_goes(reader: Reader) -> None:
    (reader.root / ".git" / "info").mkdir(parents=True)
    assert "a/f0.py" in reader.read()
    (reader.root / ".git" / "info" / "exclude").write_text("a/\n")
    assert "a/f0.py" not in reader.read()


def test_a_file_with_two_names_is_looked_at_each_time(reader: Reader, tmp_path: Path) -> None:
    os.link(reader.root / "a" / "f0.py", tmp_path / "other.py")
    (reader.root / "a" / "f2.py").write_text("which has its folder looked at\n")
    reader.read()
    reader.read()
    (tmp_path / "other.py").write_text("x = 'through the other name'\n")
    assert reader.read()["a/f0.py"] == b"x = 'through the other name'\n"


def test_what_changes_unreported_is_never_shown_as_it_was(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, looked_at: list[str]
) -> None:
    monkeypatch.setattr(Inotify, "changed", lambda _: iter([]))
    (reader.root / "a" / "f0.py").write_text("x = 'text that was read before'\n")
    assert reader.read()["a/f0.py"] == b"x = 'text that was read before'\n"
    assert "a" in looked_at
    for _ in range(2):
        reader.read()
    fresh = reader.last.files[0]
    unread = replace(fresh)  # as if nobody had read its text
    (reader.root / "a" / "f0.py").write_text("x = 'text that was not'\n")
    with pytest.raises(FileChangedError, match="ask again"):
        assert unread.data
    assert reader.read()["a/f0.py"] == b"x = 'text that was not'\n"


def overflowing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Inotify, "changed", lambda _: iter([(None, True)]))


def on_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inotify, "_LOCAL", set())


def without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inotify.sys, "platform", "other")


def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings, "_TRUSTED_S", 1.0)


@pytest.mark.parametrize("doubt", [overflowing, on_a_network, without, impatient])
def test_in_doubt_everything_is_looked_at(
    doubt: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, looked_at: list[str]
) -> None:
    doubt(monkeypatch)
    (tmp_path / "root" / "a").mkdir(parents=True)
    (tmp_path / "root" / "a" / "f.py").write_text("x = 1\n")
    with closing(Reader(tmp_path / "root", tmp_path / "cache.sqlite")) as made:
        for _ in range(4):
            looked_at.clear()
            made.read()
            assert sorted(looked_at) == ["a", "root"]


class Editor:
    """Does something to a tree."""

    def __init__(self, root: Path, seed: int) -> None:
        self._root, self._random = root, random.Random(seed)
        self._count = 0

    def _any(self, kind: Callable[[Path], bool]) -> Path | None:
        found = sorted(path for path in self._root.rglob("*") if kind(path) and not path.is_symlink())
        return self._random.choice(found) if found else None

    def _new(self, suffix: str = "") -> Path:
        self._count += 1
        folder = self._any(Path.is_dir) or self._root
        return folder / f"{self._random.choice('abcd')}{self._random.randrange(6)}{suffix}"

    def write(self) -> None:
        path = self._new(".py")
        if not path.is_dir():
            path.write_text(f"x = {self._random.randrange(10)}\n")

    def append(self) -> None:
        if path := self._any(lambda one: one.suffix == ".py"):
            with path.open("a") as file:
                file.write(f"y = {self._count}\n")

    def delete(self) -> None:
        if path := self._any(Path.is_file):
            path.unlink()

    def make_folder(self) -> None:
        self._new().mkdir(exist_ok=True)

    def move(self) -> None:
        source = self._any(lambda _: True)
        target = self._new(source.suffix if source else "")
        if source and not target.exists() and source not in (target, *target.parents):
            source.rename(target)

    def replace(self) -> None:
        source, target = self._any(lambda one: one.suffix == ".py"), self._any(lambda one: one.suffix == ".py")
        if source and target:
            source.replace(target)

    def swap_folders(self) -> None:
        one, other = self._any(Path.is_dir), self._any(Path.is_dir)
        if one and other and one not in (other, *other.parents) and other not in one.parents:
            aside = self._root.parent / "aside"
            one.rename(aside)
            other.rename(one)
            aside.rename(other)

    def ignore(self) -> None:
        folder = self._any(Path.is_dir) or self._root
        name = self._random.choice([".gitignore", ".winnowignore"])
        lines = self._random.choice(["a*\n", "b1.py\n", "*\n!*.py\n", "c2/\n", ""])
        (folder / name).write_text(lines)

    def step(self) -> None:
        """One change, or several before the next reading."""
        acts = [self.write] * 4 + [self.append] * 3 + [self.make_folder, self.move, self.move, self.delete]
        acts += [self.replace, self.swap_folders, self.ignore]
        for _ in range(self._random.choice([1, 1, 1, 4])):
            self._random.choice(acts)()


@pytest.mark.parametrize("seed", range(8))
def test_after_any_sequence_of_edits_the_index_is_one_made_from_scratch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(listings, "_TRUSTED_S", 1e9)
    root = tmp_path / "root"
    root.mkdir()
    (root / "kept.md").write_text("# There is always one\n")
    (root / ".winnowignore").write_text("!kept.md\n")
    editor = Editor(root, seed)
    with closing(Reader(root, tmp_path / "cache.sqlite")) as made:
        for number in range(40):
            editor.step()
            (root / "kept.md").write_text(f"# There is always one: {number}\n")
            assert made.read() == from_scratch(root), number
            if number % 5 == 0:
                assert made.read() == from_scratch(root)
