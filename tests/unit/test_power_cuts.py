"""The disk of `winnow bench faults` loses what was not synced, in every way that is allowed, and nothing else."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random

import pytest

from winnow_research.faults.disks import Contents, Disk
from winnow_research.faults.recording import Op

OLD, NEW = b"o" * 2000, b"n" * 3000
_times = count(1)


def op(kind: str, path: str, data: bytes = b"", target: str = "") -> Op:
    start = float(next(_times))
    return Op(kind, start, start + 0.5, path, 0, data, target)


def replacing(*left_out: str) -> list[Op]:
    """A file written beside its place, synced and renamed, but for what is left out."""
    steps = {
        "create": op("create", "new"),
        "write": op("write", "new", NEW),
        "sync file": op("sync", "new"),
        "rename": op("rename", "new", target="file"),
        "sync folder": op("sync", "."),
    }
    return [step for name, step in steps.items() if name not in left_out]


def survivors(folder: Path, ops: list[Op], cut: float | None = None) -> Iterator[Contents]:
    for seed in range(300):
        disk = Disk(folder)
        disk.apply(ops, ops[-1].end if cut is None else cut)
        yield disk.survivor(Random(seed))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "file").write_bytes(OLD)
    return tmp_path


def test_a_name_that_is_not_synced_stands_for_the_old_or_the_new(folder: Path) -> None:
    found = [left["file"] for left in survivors(folder, replacing("sync folder"))]
    assert set(found) == {OLD, NEW}


def test_a_name_may_come_before_content_that_is_not_synced(folder: Path) -> None:
    found = {left["file"] for left in survivors(folder, replacing("sync file"))}
    assert {b"", NEW} < found
    assert any(len(content) == len(NEW) and content.count(b"n") == 512 for content in found), "sectors go one by one"
    assert OLD not in found


def test_what_is_in_a_folder_goes_with_the_name_of_that(folder: Path) -> None:
    ops = [
        op("mkdir", "in"),
        op("create", "in/new"),
        op("write", "in/new", NEW),
        op("sync", "in/new"),
        op("sync", "in"),
    ]
    assert {left.get("in/new") for left in survivors(folder, ops)} == {None, NEW}
    assert {left.get("in/new") for left in survivors(folder, [*ops, op("sync", ".")])} == {NEW}


def test_a_deleted_file_may_come_back(folder: Path) -> None:
    ops = [op("unlink", "file")]
    assert {left.get("file") for left in survivors(folder, ops)} == {None, OLD}
    assert {left.get("file") for left in survivors(folder, [*ops, op("sync", ".")])} == {None}


def test_a_part_that_is_overwritten_is_old_or_new_by_sectors(folder: Path) -> None:
    found = {left["file"] for left in survivors(folder, [op("write", "file", b"n" * 1024)])}
    assert {OLD, b"n" * 1024 + OLD[1024:], b"n" * 512 + OLD[512:]} <= found
    assert all(content[1024:] == OLD[1024:] for content in found)
