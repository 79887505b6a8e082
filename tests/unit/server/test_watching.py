"""The system's watcher, on real files."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lsprotocol import types
from watchfiles.main import FileChange

from winnow_engine.config import FileRules
from winnow_engine.index.files import left_out
from winnow_lsp.server.session import watching
from winnow_lsp.server.session.editor import Folders
from winnow_lsp.server.session.watching import FileWatcher, Watch, changes

pytestmark = pytest.mark.skipif(not Path("/proc/self/fdinfo").exists(), reason="counts watches as Linux tells them")

PATIENCE_S = 120


class Watched:
    """Folders with a watcher, as for a client that cannot watch; keeps which files are said to have changed."""

    def __init__(self, *roots: Path, watch: Watch = changes) -> None:
        folders = Folders().changed(types.WorkspaceFolder(root.as_uri(), root.name) for root in roots)
        self.told: list[str] = []
        client = SimpleNamespace(
            client_capabilities=types.ClientCapabilities(),
            window_log_message=lambda params: self.told.append(params.message),
        )
        self.settings = SimpleNamespace(files=FileRules(), index_automatic="idle")
        editor = SimpleNamespace(folders=folders, settings=self.settings)
        self.changed: set[str] = set()
        self._expected: set[str] = set()
        self.watcher = FileWatcher(editor, client, self.changed.update, watch)

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                await asyncio.sleep(0.01)

    async def watches(self, count: int) -> None:
        """Wait until the system watches so many folders for this process."""
        self.watcher.start()
        await self.until(lambda: watches() == count)

    async def noticed(self, *paths: Path) -> None:
        """Wait until these files are said to have changed, and nothing else since the last time."""
        self._expected |= {path.as_uri() for path in paths}
        await self.until(lambda: self.changed >= self._expected)
        assert self.changed == self._expected


def watches() -> int:
    """How many folders the system watches for this process."""
    found = 0
    for path in Path("/proc/self/fdinfo").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found += path.read_text().count("inotify wd:")
    return found


@pytest.fixture
async def watched(tmp_path: Path):
    made = Watched(tmp_path)
    yield made
    made.watcher.close()
    await made.until(lambda: not watches())


async def test_files_that_come_change_move_and_go_are_noticed(watched: Watched, tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text("x")
    await watched.watches(1)
    (tmp_path / "new.py").write_text("x")
    (tmp_path / "new.py").rename(tmp_path / "moved.py")
    (tmp_path / "old.py").unlink()
    await watched.noticed(*(tmp_path / name for name in ("new.py", "moved.py", "old.py")))


async def test_folders_are_followed_as_they_come_and_go(watched: Watched, tmp_path: Path) -> None:
    await watched.watches(1)
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "first.py").write_text("x")
    await watched.noticed(tmp_path / "a" / "b" / "first.py")
    await watched.until(lambda: watches() == 3)
    (tmp_path / "a" / "b" / "second.py").write_text("x")
    await watched.noticed(tmp_path / "a" / "b" / "second.py")
    (tmp_path / "a" / "b").rename(tmp_path.parent / "elsewhere")
    await watched.noticed(tmp_path / "a" / "b")


async def test_a_home_is_not_watched_and_folders_that_are_not_there_do_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (repository := tmp_path / "a").mkdir()
    (circle := tmp_path / "circle").symlink_to("circle")
    watched = Watched(tmp_path / "gone", circle, tmp_path, repository)
    await watched.watches(1)
    (repository / "a.py").write_text("x")
    await watched.noticed(repository / "a.py")
    watched.settings.index_automatic = "always"
    await watched.watches(2)
    watched.watcher.close()


async def test_a_folder_that_is_only_said_to_be_there_is_asked_for_again_after_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[set[Path]]()

    async def missing(watched: set[Path]) -> AsyncGenerator[set[FileChange], None]:
        asked.append(watched)
        raise FileNotFoundError
        yield set()

    monkeypatch.setattr(watching, "_asked_to_watch", missing)
    watched = Watched(tmp_path)
    watched.watcher.start()
    await asyncio.sleep(0.5)
    watched.watcher.close()
    assert asked == [{tmp_path}]


@pytest.mark.parametrize(
    "error",
    [OSError("limit reached"), UnicodeEncodeError("utf-8", "\udcff", 0, 1, "limit reached")],
    ids=["limit", "name"],
)
async def test_where_no_watch_is_left_the_user_is_told(
    error: Exception, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def exhausted(roots: Iterable[Path], rules: FileRules) -> AsyncIterator[set[Path]]:
        raise error
        yield set(roots)

    watched = Watched(tmp_path, watch=exhausted)
    with caplog.at_level(logging.WARNING):
        watched.watcher.start()
        await watched.until(lambda: watched.told)
    assert watched.told == [f"changes on disk are noticed at the next question only: {error}"]
    assert watched.told[0] in caplog.text


async def test_only_folders_that_count_are_watched(watched: Watched, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("/out\n*.log\n")
    for name in (".git/objects/aa", "node_modules/a/lib", "out/deep", "src"):
        (tmp_path / name).mkdir(parents=True)
    await watched.watches(2)
    for name in (".git/index", "out/deep/made.py", "picture.png", "src/app.log", "src/last.py"):
        (tmp_path / name).write_text("x")
    await watched.noticed(tmp_path / "src" / "last.py")


async def test_files_that_are_ignored_do_not_count_until_the_rules_change(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one / "out", other):
        folder.mkdir(parents=True)
    watched, rules, named = Watched(one, other), one / ".gitignore", (one / "app.log", one / "out" / "a.py")
    for text, told, counted in (("out/\n*.log\n.gitignore\n", (rules,), ()), ("!*.log\n", (), named)):
        rules.write_text(text)
        await watched.watcher.changed(path.as_uri() for path in (*told, *named, other / "app.log"))
        await watched.noticed(*told, other / "app.log", *counted)


async def test_what_arrives_while_files_are_judged_is_judged_at_once_by_the_rules_of_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged = list[set[str]]()

    def counted(root: Path, files: list[str], rules: FileRules) -> set[str]:
        judged.append(set(files))
        return left_out(root, files, rules)

    monkeypatch.setattr(watching, "left_out", counted)
    watched, names = Watched(tmp_path), [f"{number}.py" for number in range(20)]
    watched.settings.files = FileRules(exclude=("*.py",))
    asked = [asyncio.create_task(watched.watcher.changed([(tmp_path / name).as_uri()])) for name in names]
    await asyncio.sleep(0)
    watched.settings.files = FileRules()
    await asyncio.gather(*asked)
    assert judged == [{names[0]}, set(names[1:])]
    await watched.noticed(*(tmp_path / name for name in names[1:]))


async def test_links_are_resolved_once_for_all_changed_files_of_a_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, link = tmp_path / "source", tmp_path / "link"
    source.mkdir()
    link.symlink_to(source)
    watched, real, resolved = Watched(tmp_path), os.path.realpath, list[Path]()

    def counted(path: Path, **options: Any) -> str:
        resolved.append(path)
        return real(path, **options)

    monkeypatch.setattr(os.path, "realpath", counted)
    monkeypatch.setattr(watching, "_left_out", lambda *_: set())
    found = [folder / name for folder in (tmp_path, source, link) for name in ("a.py", "b.py")]
    await watched.watcher.changed(path.as_uri() for path in [*found, source / "c.png"])
    assert watched.changed == {path.as_uri() for path in found}
    assert sorted(resolved) == [tmp_path, link, source]
