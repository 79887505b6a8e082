"""Files of arrays: all of one or nothing, whatever happened to it."""

import os
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow_engine.storage import mapped
from winnow_engine.storage.mapped import open_arrays, write_arrays

ROWS = np.arange(1000, dtype=np.int64)
TEXT = np.frombuffer(b"some words", np.uint8)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "one.arrays"
    write_arrays(path, {"rows": [ROWS[:10], ROWS[10:]], "text": [TEXT], "none": [np.empty((0, 3), np.float16)]})
    return path


def test_what_is_written_is_read(path: Path) -> None:
    arrays = open_arrays(path)
    assert arrays is not None
    np.testing.assert_array_equal(arrays["rows"], ROWS)
    assert arrays["text"].tobytes() == b"some words"
    assert arrays["none"].shape == (0, 3)
    assert not arrays["rows"].flags.writeable


@settings(deadline=None)
@given(st.data())
def test_one_flipped_bit_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("bits") / "one.arrays"
    write_arrays(path, {"rows": [ROWS], "text": [TEXT]})
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << data.draw(st.integers(0, 7)))]) + whole[at + 1 :])
    found = open_arrays(path)
    if found is not None:  # only what lies between the arrays may differ
        np.testing.assert_array_equal(found["rows"], ROWS)
        np.testing.assert_array_equal(found["text"], TEXT)


@pytest.mark.parametrize("size", [0, 5, 30, 500, 8000])
def test_a_truncated_file_counts_as_missing(path: Path, size: int) -> None:
    os.truncate(path, size)
    assert open_arrays(path) is None


def test_a_file_is_verified_until_its_stamp_is_trusted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verified: list[int] = []
    original = mapped._digest

    def digest(arrays: list[np.ndarray]) -> str:
        verified.append(1)
        return original(arrays)

    monkeypatch.setattr(mapped, "_digest", digest)
    open_arrays(path)
    open_arrays(path)  # still young: it could have changed within a tick
    assert len(verified) == 6
    monkeypatch.setattr(mapped, "_LONGEST_TICK_S", -1.0)
    open_arrays(path)
    open_arrays(path)
    assert len(verified) == 9
    status = path.stat()
    path.write_bytes(path.read_bytes()[:4000] + b"!!!" + path.read_bytes()[4003:])
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert open_arrays(path) is None


def test_a_write_that_fails_leaves_what_was_there(path: Path) -> None:
    class Chunks(list[np.ndarray]):
        def __iter__(self):  # type: ignore[no-untyped-def]
            yield ROWS
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        write_arrays(path, {"rows": Chunks([ROWS])})
    found = open_arrays(path)
    assert len(found or ()) == 3
    assert [one.name for one in path.parent.glob(".*")] == []


def test_what_a_killed_process_left_is_removed_later(path: Path) -> None:
    old, young = path.with_name(".winnow-x.tmp"), path.with_name(".winnow-y.tmp")
    old.touch()
    young.touch()
    os.utime(old, (time.time() - 7200,) * 2)
    write_arrays(path, {"rows": [ROWS]})
    assert (old.exists(), young.exists()) == (False, True)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="nothing tells which file is synced")
def test_a_file_and_the_folders_made_for_it_are_synced_before_they_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[tuple[str, Path | None]] = []
    monkeypatch.setattr(os, "fsync", lambda handle: done.append(("sync", Path(f"/proc/self/fd/{handle}").readlink())))
    replace = Path.replace
    monkeypatch.setattr(Path, "replace", lambda path, to: (done.append(("rename", path)), replace(path, to)))
    path = tmp_path / "a" / "b" / "one.arrays"
    write_arrays(path, {"rows": [ROWS]})
    (beside,) = [one for how, one in done if how == "rename"]
    assert set(done[:2]) == {("sync", tmp_path), ("sync", tmp_path / "a")}
    assert done[2:] == [("sync", beside), ("rename", beside), ("sync", path.parent)]
