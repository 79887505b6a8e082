"""Trees made to crash, hang or mislead a reader."""

from __future__ import annotations

import os
import socket
from contextlib import closing
from pathlib import Path

import pytest

from winnow_engine.config import FileRules
from winnow_engine.core import Cancellation, Folder
from winnow_engine.errors import WorkspaceError
from winnow_engine.index import files
from winnow_engine.index.files import explain
from winnow_engine.index.ignore import deciding, patterns
from winnow_engine.index.indexing import ReadContext
from winnow_engine.index.parse_pool import ParsePool
from winnow_engine.index.records import analysed
from winnow_engine.index.workspace import Sources, read_workspace
from winnow_engine.platform import read_regular
from winnow_engine.storage.store import Store
from winnow_research.evaluation.repositories import scan


@pytest.fixture
def root(tmp_path: Path) -> Path:
    top = tmp_path / "workspace"
    top.mkdir()
    (top / "good.py").write_text("x = 1\n")
    return top


def left_out(root: Path) -> dict[str, str]:
    """The reasons for what is left out, after checking that nothing but good.py counts."""
    reasons: dict[str, str] = {}
    assert [file.path for file in scan(root, skipped=reasons.__setitem__)] == ["good.py"]
    return reasons


LINK = "symbolic link: what it leads to counts under its own path, if it is in the workspace"


def test_links_are_never_followed(root: Path) -> None:
    (root.parent / "outside.py").write_text("secret\n")
    (root / "dir").mkdir()
    for name, target in {
        "dir/loop": "..",
        "self": "self",
        "file.py": "good.py",
        "out.py": "../outside.py",
        "broken.py": "nowhere",
    }.items():
        (root / name).symlink_to(target)
    assert left_out(root) == dict.fromkeys(("dir/loop", "self", "file.py", "out.py", "broken.py"), LINK)
    assert explain(root, Path("dir/loop/good.py")).reason == LINK


def test_special_files_are_never_opened(root: Path) -> None:
    os.mkfifo(root / "pipe.py")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket.py"))
        assert left_out(root) == {"pipe.py": "not a regular file", "socket.py": "not a regular file"}


def test_a_pipe_for_an_ignore_file_is_no_ignore_file(root: Path) -> None:
    os.mkfifo(root / ".gitignore")
    assert left_out(root) == {".gitignore": "not a regular file"}


def test_a_huge_sparse_file_is_not_read(root: Path) -> None:
    with (root / "huge.py").open("wb") as file:
        file.truncate(1 << 30)
    assert left_out(root) == {"huge.py": "larger than 1,000,000 bytes (1,073,741,824)"}


def test_a_very_long_line_is_left_out(root: Path) -> None:
    (root / "line.js").write_bytes(b"x" * 200_000)
    assert left_out(root) == {"line.js": "minified: longest line 200,000 columns"}


@pytest.mark.parametrize("name", [b"a\nb.py", b"a\x1b[2Jb.py", b"caf\xe9.py"])
def test_names_that_cannot_be_shown_are_left_out(root: Path, name: bytes) -> None:
    Path(os.fsdecode(os.fsencode(root) + b"/" + name)).write_text("x\n")
    ((path, reason),) = left_out(root).items()
    assert reason == "its name has control characters or is not UTF-8"
    assert path.isprintable()


def test_unreadable_files_are_reported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "locked.py").write_text("x\n")
    open_as_is = os.open

    def open_refusing(path: str | Path, flags: int) -> int:
        if Path(path).name == "locked.py":
            raise PermissionError(13, "Permission denied")
        return open_as_is(path, flags)

    monkeypatch.setattr(os, "open", open_refusing)
    assert left_out(root) == {"locked.py": "unreadable: Permission denied"}


def test_unreadable_directories_are_reported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "locked").mkdir()
    scan_as_is = os.scandir

    def scan_refusing(path: str | Path) -> os._ScandirIterator[str]:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return scan_as_is(path)

    monkeypatch.setattr(os, "scandir", scan_refusing)
    assert left_out(root) == {"locked": "unreadable: Permission denied"}
    with pytest.raises(WorkspaceError, match="Permission denied"):
        list(scan(root / "locked"))


def test_a_file_that_vanishes_is_reported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "gone.py").write_text("x\n")

    def read_late(path: Path, limit: int) -> bytes:
        (root / "gone.py").unlink(missing_ok=True)
        return read_regular(path, limit)

    monkeypatch.setattr(files, "read_regular", read_late)
    assert left_out(root) == {"gone.py": "unreadable: No such file or directory"}


@pytest.mark.parametrize("swapped", ["link", "pipe", "directory"])
def test_what_is_swapped_for_a_file_is_not_read(root: Path, swapped: str) -> None:
    path = root / "swapped.py"
    match swapped:
        case "link":
            path.symlink_to("good.py")
        case "pipe":
            os.mkfifo(path)
        case "directory":
            path.mkdir()
    with pytest.raises(OSError, match=r"regular file|symbolic links"):
        read_regular(path, 100)


def test_a_file_that_grows_is_not_read_past_the_limit(root: Path) -> None:
    assert read_regular(root / "good.py", 3) == b"x ="


def test_deep_directories_are_walked_without_recursion(root: Path) -> None:
    deep = root
    for _ in range(800):
        deep = deep / "d"
        deep.mkdir()
    (deep / "last.py").write_text("x\n")
    assert [file.path for file in scan(root)] == ["d/" * 800 + "last.py", "good.py"]


def test_directories_too_deep_for_the_system_are_reported(root: Path) -> None:
    here = os.open(root, os.O_RDONLY)
    name = "d" * 200
    for _ in range(25):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    assert set(left_out(root).values()) == {"unreadable: File name too long"}


def test_damaged_git_files_are_no_obstacle(root: Path) -> None:
    (root / ".git").write_bytes(b"gitdir: \xff\0/nowhere\n")
    (root / ".gitignore").write_bytes(b"\xff\xfe\0*\n[z-a]\n[\n")
    assert set(left_out(root)) == {".git", ".gitignore"}


@pytest.mark.parametrize(("pattern", "name"), [("*a" * 30 + "b", "a" * 200), ("a/**/" * 30 + "b", "a/" * 100 + "a")])
def test_a_pattern_that_invites_backtracking_is_matched_in_linear_time(root: Path, pattern: str, name: str) -> None:
    assert deciding(patterns([pattern], root, ".gitignore"), f"{root}/{name}", is_dir=False) is None  # would not end


def test_a_maze_of_links_is_walked_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("secret = 1\n")
    rooms = [root / f"room{number}" for number in range(30)]
    for room in rooms:
        room.mkdir()
    for room in rooms:
        for other in rooms:
            (room / f"to_{other.name}").symlink_to(f"../{other.name}")
        (room / "up").symlink_to("..")
        (room / "out").symlink_to(outside)
        (room / "root").symlink_to("/")
    scanned: list[str] = []
    scan_as_is = os.scandir

    def count(path: str | Path) -> os._ScandirIterator[str]:
        scanned.append(str(Path(path)))
        return scan_as_is(path)

    monkeypatch.setattr(os, "scandir", count)
    reasons = left_out(root)
    assert len(reasons) == 30 * 33
    assert set(reasons.values()) == {LINK}
    assert sorted(set(scanned)) == sorted([str(root), *map(str, rooms)])
    assert len(scanned) <= len(rooms) + 2


@pytest.mark.parametrize("name", [b"a\nb", b"\xff\xfe", b"a\rb", "\u202egnp".encode()])
def test_directories_whose_names_cannot_be_shown_are_left_out(root: Path, name: bytes) -> None:
    folder = Path(os.fsdecode(os.fsencode(root) + b"/" + name))
    folder.mkdir()
    (folder / "a.py").write_text("x = 1\n")
    assert left_out(root) == {next(iter(left_out(root))): "its name has control characters or is not UTF-8"}


def test_a_large_file_that_the_user_wants_is_cut_in_linear_time(root: Path) -> None:
    """Scaled down from 500 MB, which would take minutes: past 4 MB nothing is parsed, so that it is the same code."""
    line = b"value = compute(first, second, third)  # and so on, to a common length\n"
    (root / "good.py").write_bytes(line * 120_000)
    (source,) = scan(root, FileRules(max_bytes=500_000_000))
    record = analysed(source.path, source.data)
    ends = record["units"][:, 2]
    assert ends[-1] == len(source.data) == 120_000 * len(line)
    assert max(ends[1:] - ends[:-1]) <= 2_000
    assert not len(record["definitions"])


def test_many_tiny_files_are_each_read_once(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scaled down from 100,000, which take a minute of processor time."""
    for number in range(2_000):
        path = root / f"d{number % 50}" / f"f{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"x{number} = {number}\n")
    opened: list[str] = []

    def count(path: Path | str, limit: int) -> bytes:
        opened.append(str(path))
        return read_regular(path, limit)

    monkeypatch.setattr(files, "read_regular", count)
    with closing(Store(tmp_path / "index.sqlite")) as store, closing(ParsePool(2)) as parse_pool:
        context = ReadContext(parse_pool)
        workspace = read_workspace(Sources((Folder(root),)), store, Cancellation(), None, context)
        assert len(workspace.files) == len(workspace.units) == 2_001
        assert [file.path for file in workspace.files] == sorted(file.path for file in workspace.files)
        assert len(opened) == len(set(opened)) == 2_001
