"""Whatever is done between two readings, the second gives the index that one made from scratch would be."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from winnow_engine.core import Cancellation, Folder
from winnow_engine.index.stat_cache import StatCache
from winnow_engine.index.workspace import Sources, Workspace, read_workspace
from winnow_engine.storage.store import Store
from winnow_research.evaluation.repositories import scan

STEP_S = 4.0  # what is read is trusted, and not read again, when the tick of a clock is over


class Reader:
    """Reads a workspace again and again, as a server does."""

    def __init__(self, root: Path, cache: Path) -> None:
        self.root, self._store, self._now = root, Store(cache), 0.0
        self._last = Workspace((), StatCache(lambda: self._now))

    def read(self) -> dict[str, bytes]:
        self._last = read_workspace(Sources((Folder(self.root),)), self._store, Cancellation(), self._last)
        self._now += STEP_S
        return {file.path: file.data for file in self._last.files}

    def close(self) -> None:
        self._store.close()


def from_scratch(root: Path) -> dict[str, bytes]:
    return {file.path: file.data for file in scan(root)}


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
def test_after_any_sequence_of_edits_the_index_is_one_made_from_scratch(tmp_path: Path, seed: int) -> None:
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
