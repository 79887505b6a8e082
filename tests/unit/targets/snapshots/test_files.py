"""Snapshots as files: found by their tokens, refused when damaged, bounded, private, shared by processes."""

import errno
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.core import Prompt
from winnow_engine.errors import SnapshotError
from winnow_engine.targets.snapshots.files import Snapshot, Snapshots, made_by, used_bytes

PLENTY = 1 << 30


def tokens(*parts: range) -> Prompt:
    return np.concatenate([np.array(part, np.int32) for part in parts])


def snapshot(of: Prompt, size: int = 1000) -> Snapshot:
    return Snapshot(of, np.random.default_rng(len(of)).integers(0, 256, size, np.uint8), 0.005)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "snapshots"


@pytest.fixture
def kept(folder: Path) -> Snapshots:
    return Snapshots(folder, PLENTY, "model")


def shared(snapshots: Snapshots, prompt: Prompt, *, whole: bool = False) -> int:
    found = snapshots.find(prompt, whole=whole)
    return found.shared if found else 0


def test_a_snapshot_is_read_where_nothing_can_be_written(
    kept: Snapshots, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    kept.save(snapshot(tokens(range(50))))
    monkeypatch.setattr(os, "utime", refuse)
    found = Snapshots(folder, PLENTY, "model").find(tokens(range(90)), whole=False)
    assert found is not None
    assert len(kept.load(found).tokens) == 50


def test_what_is_kept_comes_back_in_another_process_as_it_was(kept: Snapshots, folder: Path) -> None:
    kept.save(snapshot(tokens(range(50))))
    found = Snapshots(folder, PLENTY, "model").find(tokens(range(30), range(90)), whole=False)
    assert found is not None
    assert found.shared == 30
    loaded = Snapshots(folder, PLENTY, "model").load(found)
    np.testing.assert_array_equal(loaded.tokens, np.arange(50))
    np.testing.assert_array_equal(loaded.state, snapshot(tokens(range(50))).state)
    assert loaded.token_s == 0.005


def test_the_longest_common_beginning_is_found(kept: Snapshots) -> None:
    assert kept.find(tokens(range(9)), whole=False) is None
    kept.save(snapshot(tokens(range(20), range(100, 120))))
    kept.save(snapshot(tokens(range(30), range(200, 205))))
    prompt = tokens(range(40))
    assert shared(kept, prompt) == 30
    assert shared(kept, prompt, whole=True) == 0
    kept.save(snapshot(tokens(range(10))))
    assert shared(kept, prompt, whole=True) == 10
    assert shared(kept, tokens(range(1000, 1010))) == 0


def test_a_longer_snapshot_replaces_its_beginnings(kept: Snapshots, folder: Path) -> None:
    for end in (10, 20, 30):
        kept.save(snapshot(tokens(range(end))))
    kept.save(snapshot(tokens(range(5), range(99))))
    assert used_bytes(folder)[0] == 2


def test_another_models_snapshots_are_not_seen(kept: Snapshots, folder: Path) -> None:
    kept.save(snapshot(tokens(range(50))))
    assert shared(Snapshots(folder, PLENTY, "other"), tokens(range(50))) == 0


def test_only_the_user_may_read_them(kept: Snapshots, folder: Path) -> None:
    kept.save(snapshot(tokens(range(50))))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]


def test_a_change_of_any_byte_is_noticed_and_the_file_deleted(folder: Path) -> None:
    """Change every byte of the header, and every 7th of the arrays: no wrong state is ever loaded."""
    original, prompt = snapshot(tokens(range(50)), 300), tokens(range(60))
    Snapshots(folder, PLENTY, "model").save(original)
    (path,) = folder.iterdir()
    sound = path.read_bytes()
    header = 8 + int.from_bytes(sound[:8], "little")
    for place in [*range(header), *range(header, len(sound), 7), len(sound) - 1]:
        damaged = bytearray(sound)
        damaged[place] ^= 0x01
        assert_refused(folder, path, bytes(damaged), prompt, original)


@pytest.mark.parametrize("keep", [0, 1, 7, 8, 40, 200, 500, -1])
def test_a_file_cut_short_or_foreign_is_refused(folder: Path, keep: int) -> None:
    original, prompt = snapshot(tokens(range(50)), 300), tokens(range(60))
    Snapshots(folder, PLENTY, "model").save(original)
    (path,) = folder.iterdir()
    sound = path.read_bytes()
    assert_refused(folder, path, sound[:keep], prompt, original)
    assert_refused(folder, path, b"\x00garbage" * keep if keep > 0 else b"junk", prompt, original)
    assert_refused(folder, path, sound + b"more", prompt, original)


def assert_refused(folder: Path, path: Path, content: bytes, prompt: Prompt, original: Snapshot) -> None:
    """Nothing is found, or loading fails with a named error and the file is deleted; or the byte did not matter."""
    path.write_bytes(content)
    snapshots = Snapshots(folder, PLENTY, "model")
    found = snapshots.find(prompt, whole=False)
    try:
        loaded = snapshots.load(found) if found else None
    except SnapshotError:
        loaded = None
    if loaded is None:
        assert not path.exists()
        return
    np.testing.assert_array_equal(loaded.state, original.state)
    np.testing.assert_array_equal(loaded.tokens, original.tokens)
    assert loaded.token_s == original.token_s


def test_a_state_of_another_snapshot_under_this_name_is_refused(kept: Snapshots, folder: Path) -> None:
    kept.save(snapshot(tokens(range(50))))
    (mine,) = folder.iterdir()
    kept.save(snapshot(tokens(range(9), range(60))))
    (other,) = set(folder.iterdir()) - {mine}
    other.replace(mine)
    assert shared(Snapshots(folder, PLENTY, "model"), tokens(range(70))) == 0
    assert not mine.exists()


def test_damage_is_logged(kept: Snapshots, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept.save(snapshot(tokens(range(50))))
    (path,) = folder.iterdir()
    path.write_bytes(b"junk")
    with caplog.at_level(logging.WARNING):
        assert shared(Snapshots(folder, PLENTY, "model"), tokens(range(50))) == 0
    assert f"the snapshot {path} is not sound and is deleted" in caplog.text


def test_they_take_no_more_room_than_given_and_the_longest_unused_goes_first(folder: Path) -> None:
    snapshots = Snapshots(folder, 26_000, "model")
    for first in range(3):
        snapshots.save(snapshot(tokens(range(first * 100, first * 100 + 50)), 8000))
    for age, first in ((30, 200), (20, 0), (10, 100)):
        found = snapshots.find(tokens(range(first, first + 50)), whole=False)
        assert found is not None
        os.utime(found.path, (time.time() - age,) * 2)
    found = snapshots.find(tokens(range(200, 250)), whole=False)
    assert found is not None
    snapshots.load(found)  # used now
    snapshots.save(snapshot(tokens(range(900, 950)), 8000))
    assert [shared(snapshots, tokens(range(first, first + 50))) for first in (0, 100, 200, 900)] == [0, 50, 50, 50]
    assert used_bytes(folder)[1] <= 26_000


def test_a_bound_of_nothing_deletes_what_is_there(kept: Snapshots, folder: Path) -> None:
    kept.save(snapshot(tokens(range(50))))
    found = kept.find(tokens(range(50)), whole=False)
    assert found is not None
    Snapshots(folder, 0, "other")
    assert used_bytes(folder) == (0, 0)
    assert kept.find(tokens(range(50)), whole=False) is None
    with pytest.raises(SnapshotError, match="cannot be read"):
        kept.load(found)


def test_what_a_killed_process_left_behind_goes_when_it_is_old(kept: Snapshots, folder: Path) -> None:
    kept.save(snapshot(tokens(range(50))))
    old, young = folder / ".winnow-a.tmp", folder / ".winnow-b.tmp"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (time.time() - 7200,) * 2)
    Snapshots(folder, PLENTY, "model")
    assert (old.exists(), young.exists()) == (False, True)


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SnapshotError, match=r"no snapshot can be kept in .*file"):
        Snapshots(tmp_path / "file" / "snapshots", PLENTY, "model").save(snapshot(tokens(range(50))))


def test_several_processes_may_write_delete_and_read_at_once(folder: Path) -> None:
    script = """
import sys, pathlib, numpy as np
from winnow_engine.errors import SnapshotError
from winnow_engine.targets.snapshots.files import Snapshot, Snapshots
snapshots = Snapshots(pathlib.Path(sys.argv[1]), 200_000, "model")
for i in range(40):
    tokens = np.arange(i % 7, i % 7 + 50 + i, dtype=np.int32)
    snapshots.save(Snapshot(tokens, np.full(20_000, tokens[0], np.uint8), 0.1))
    found = snapshots.find(np.arange(i % 5, 200, dtype=np.int32), whole=False)
    try:
        loaded = snapshots.load(found) if found else None
    except SnapshotError as error:
        assert "cannot be read" in str(error), error  # deleted by another
    else:
        assert loaded is None or (loaded.state == loaded.tokens[0]).all()
"""
    command = [sys.executable, "-W", "error", "-c", script, str(folder)]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    assert used_bytes(folder)[1] <= 200_000
    assert not [path for path in folder.iterdir() if path.suffix != ".safetensors"]


def test_the_name_of_a_model_changes_with_its_weights_and_how_it_is_run(tmp_path: Path) -> None:
    model = tmp_path / "model.gguf"
    model.write_bytes(bytes(1 << 20))
    stat = model.stat()
    names = [made_by(model, "f16", "0.3"), made_by(model, "q8_0", "0.3"), made_by(model, "f16", "0.4")]
    assert names[0] == made_by(model, "f16", "0.3")
    model.write_bytes(bytes((1 << 20) - 1) + b"x")
    os.utime(model, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    names.append(made_by(model, "f16", "0.3"))
    os.utime(model, ns=(0, 0))
    names.append(made_by(model, "f16", "0.3"))
    assert len(set(names)) == 5
