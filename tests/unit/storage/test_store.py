import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.errors import WorkspaceError
from winnow_engine.storage import store as stores
from winnow_engine.storage.mapped import write_arrays
from winnow_engine.storage.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "index.sqlite"


def record(value: int, size: int = 3) -> dict[str, np.ndarray]:
    return {"codes": np.full((size, 2), value, np.int8), "empty": np.empty((0, 4), np.float16)}


def test_records_survive_reopening_with_dtype_and_shape(path: Path) -> None:
    store = Store(path)
    store.put("n", "a", record(7))
    store.close()
    found = Store(path).get("n", ["a", "missing"])
    assert list(found) == ["a"]
    np.testing.assert_array_equal(found["a"]["codes"], record(7)["codes"])
    assert found["a"]["empty"].shape == (0, 4)
    assert found["a"]["empty"].dtype == np.float16


def test_a_writer_does_not_wait_long(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("winnow_engine.storage.store.time.monotonic", lambda: now)
    store = Store(path)
    with store.writer("n") as writer:
        writer.put("a", record(1))
        assert not store.get("n", ["a"])
        now += 1
        writer.put("b", record(2))
        assert len(store.get("n", "ab")) == 2


def test_what_an_error_ends_is_stored(path: Path) -> None:
    store = Store(path)

    def fail() -> None:
        with store.writer("n") as writer:
            writer.put("a", record(1))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert "a" in store.get("n", ["a"])


def test_damaged_record_counts_as_missing(path: Path) -> None:
    store = Store(path)
    store.put("n", "a", record(1))
    store.close()
    with sqlite3.connect(path) as raw:
        (data,) = raw.execute("SELECT data FROM record").fetchone()
        raw.execute("UPDATE record SET data = ?", [data[:-1] + bytes([data[-1] ^ 1])])
    assert Store(path).get("n", ["a"]) == {}


def test_file_that_is_no_database_is_replaced(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database" * 1000)
    store = Store(path)
    store.put("n", "a", record(1))
    assert "a" in store.get("n", ["a"])


def test_many_processes_may_open_a_new_store_at_once(path: Path) -> None:
    write = (
        "import sys, numpy; from pathlib import Path; from winnow_engine.storage.store import Store\n"
        "store = Store(Path(sys.argv[1]))\n"
        "for i in range(20): store.put('n', f'{sys.argv[2]}-{i}', {'x': numpy.zeros(9)})\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", write, str(path), name]) for name in "abcd"]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0, 0]
    assert len(Store(path).get("n", [f"{name}-{i}" for name in "abcd" for i in range(20)])) == 80


@pytest.mark.parametrize("start", [60, 4096])  # in the text of the schema, and behind it
def test_a_file_damaged_inside_is_begun_anew(path: Path, start: int) -> None:
    with closing(Store(path)) as store:
        store.put("n", "a", record(1, 5000))
    path.write_bytes(path.read_bytes()[:start] + b"junk" * 5000)
    with closing(Store(path)) as store, closing(Store(path)) as other:
        store.put("n", "b", record(1, 5000))
        assert list(other.get("n", "ab")) == ["b"]


def test_a_key_that_sqlite_cannot_take_costs_no_record(path: Path) -> None:
    store = Store(path)
    store.put("n", "a", record(1))
    with pytest.raises(WorkspaceError):
        store.get("n", [object()])  # type: ignore[list-item]
    assert "a" in store.get("n", ["a"])


@pytest.mark.parametrize("found", [b"n\xff", b"n\xc3\xa9", b"nz"])  # is no text, is of two bytes, is another key
def test_damaged_keys_count_as_missing_and_can_be_stored_again(path: Path, found: bytes) -> None:
    keys = [f"{letter}{'-' * 40}" for letter in "abcdefgh"]
    with closing(Store(path)) as store:
        for key in keys:
            store.put("n", key, record(1))
    path.write_bytes(path.read_bytes().replace(b"nd---"[: len(found)], found))
    with closing(Store(path)) as store:
        store.keys("n", keys)
        for _ in range(2):  # the order of keys may be seen to be wrong only after more of them are there
            store.put_many("n", dict.fromkeys(keys, record(1)))
            store.get("n", keys)
        assert store.get("n", keys).keys() == {*keys}


@pytest.mark.parametrize("column", ["data", "used"])
def test_a_record_with_values_of_other_types_is_damaged(path: Path, column: str) -> None:
    with closing(Store(path)) as store:
        store.put("n", "a", record(1))
        with sqlite3.connect(path) as raw:
            raw.execute(f"UPDATE record SET {column} = 'text'")
        assert store.trim(0) == 0
        assert len(store.get("n", "a")) == (column == "used")
        store.put("n", "a", record(2))
        assert store.trim(0) == 1


def test_a_file_deleted_under_an_open_store_is_made_anew(path: Path) -> None:
    with closing(Store(path)) as store, closing(Store(path)) as other:
        store.put("n", "a", record(1))
        shutil.rmtree(path.parent)
        assert store.get("n", ["a"]) == {}
        other.put("n", "b", record(2))
        assert list(store.get("n", "ab")) == ["b"]
        assert path.stat().st_mode & 0o777 == 0o600
    shutil.rmtree(path.parent)
    with pytest.raises(WorkspaceError):
        store.put("n", "c", record(3))
    assert not path.exists()


def test_place_that_cannot_be_made_is_a_named_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WorkspaceError, match="WINNOW_CACHE_DIR"):
        Store(tmp_path / "file" / "index.sqlite")


def test_trim_forgets_what_was_used_longest_ago(path: Path) -> None:
    store = Store(path)
    for name in "abc":
        store.put("n", name, record(1, 1000))
    with sqlite3.connect(path) as raw:
        raw.executemany("UPDATE record SET used = ? WHERE key = ?", [(3, "a"), (1, "b"), (2, "c")])
    assert store.trim(5000) == 1
    assert sorted(store.get("n", "abc")) == ["a", "c"]


def test_trim_forgets_the_workspace_that_was_used_longest_ago(path: Path) -> None:
    store = Store(path)
    for namespace, used in (("old", 1), ("new", 3)):
        store.pack(namespace, {"ab" * 20: record(1, 1000)})
        (pack,) = store.packs(namespace).all()
        os.utime(pack.path, (used, used))
    write_arrays(store.workspaces / "w.tables-1", {"rows": [np.zeros(500)]})
    os.utime(store.workspaces / "w.tables-1", (2, 2))
    assert store.trim(9000) == 1
    assert (store.get("old", ["ab" * 20]), list(store.get("new", ["ab" * 20]))) == ({}, ["ab" * 20])
    assert store.trim(5000) == 1
    assert [one.name for one in store.workspaces.iterdir()] == []


def test_the_disk_is_given_back_where_most_of_the_file_is_empty(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(path)
    store.put_many("n", {str(number): record(number % 100, 100_000) for number in range(20)})
    store.put("n", "last", record(7))
    full = path.stat().st_size
    with sqlite3.connect(path) as raw:
        raw.execute("UPDATE record SET used = used - (key != 'last')")
    store.trim(1000)
    assert path.stat().st_size == full  # what is left over is kept for new records
    monkeypatch.setattr("winnow_engine.storage.store._MOST_FREE_BYTES", 1_000_000)
    store.trim(1000)
    assert path.stat().st_size < full / 20
    np.testing.assert_array_equal(store.get("n", ["last"])["last"]["codes"], record(7)["codes"])


def test_only_the_user_may_read_it_also_where_others_could_before(path: Path) -> None:
    Store(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    Store(path).put("n", "a", record(1))
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}


def test_a_record_from_elsewhere_of_numbers_that_numpy_lacks_is_missing(path: Path) -> None:
    header = b'{"codes":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}}'

    class Elsewhere:
        problem = None

        def keys(self, _namespace: str, keys: Iterable[str]) -> set[str]:
            return set(keys)

        def get(self, _namespace: str, keys: Iterable[str]) -> dict[str, bytes]:
            return dict.fromkeys(keys, len(header).to_bytes(8, "little") + header + b"xx")

    store = Store(path)
    store.attach(None, ["elsewhere"], lambda _: Elsewhere())
    assert store.get("n", ["a"]) == {}


def test_what_a_full_disk_does_not_take_stays_in_memory_until_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(Store(tmp_path / "index.sqlite")) as store:
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count={pages + 1}")
        store.put("names", "one", {"array": np.arange(100_000)})
        assert "the disk is full" in store.problems[0]
        assert len(store.get("names", ["one"])["one"]["array"]) == 100_000
        assert (store.keys("names", ["one", "two"]), store.keys("names", ["two"])) == ({"one"}, set())
        assert store.keys("others", ["one"]) == set()
        with pytest.raises(WorkspaceError, match="is full; free some room, or set WINNOW_CACHE_DIR"):
            store.save_rest()
        monkeypatch.setattr(stores, "_MOST_WAITING_BYTES", 1_000_000)
        with pytest.raises(WorkspaceError, match="disk is full; free some room"):
            store.put("names", "two", {"array": np.arange(100_000)})
        with store.writer("names", needed=False) as writer:
            writer.put("two", {"array": np.arange(100_000)})
        store._connection.execute("PRAGMA max_page_count=100000")
        store.put("names", "three", {"array": np.arange(9)})
        store.save_rest()
        assert not store.problems
    with closing(Store(tmp_path / "index.sqlite")) as store:
        assert set(store.get("names", ["one", "two", "three"])) == {"one", "three"}


def test_a_cache_that_can_only_be_read_is_read_and_takes_records_into_memory(path: Path) -> None:
    one = {"array": np.arange(9)}
    with closing(Store(path)) as store:
        store.put("names", "one", one)
        store._connection.execute("PRAGMA query_only=1")
        assert set(store.get("names", ["one"])) == {"one"}
        assert not store.problems
        store.put("names", "two", one)
        assert "cannot be written and nothing new is saved in" in store.problems[0]
        assert set(store.get("names", ["one", "two"])) == {"one", "two"}
        with pytest.raises(WorkspaceError, match="make it writable or delete it, or set WINNOW_CACHE_DIR"):
            store.save_rest()


def test_a_cache_in_a_folder_that_cannot_be_written_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(Store(path)) as store:
        store.put("names", "one", {"array": np.arange(9)})

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "touch", refuse)
    with closing(Store(path)) as store:
        assert set(store.get("names", ["one"])) == {"one"}


def test_records_are_read_though_a_full_disk_takes_no_mark_of_it(tmp_path: Path) -> None:
    with closing(Store(tmp_path / "index.sqlite")) as store:
        store.put("names", "one", {"array": np.arange(9)})
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count={pages}")
        more = "INSERT INTO record VALUES ('', '', '', zeroblob(100000), 0)"  # as a journal needs it
        store._connection.execute(f"CREATE TEMP TRIGGER full AFTER UPDATE ON record BEGIN {more}; END")
        assert set(store.get("names", ["one"])) == {"one"}
        assert not store.problems


@pytest.mark.parametrize(
    ("code", "why"), [(errno.ENOSPC, "the disk is full"), (errno.EROFS, "the cache cannot be written")]
)
def test_where_there_can_be_no_cache_there_is_memory(
    path: Path, monkeypatch: pytest.MonkeyPatch, code: int, why: str
) -> None:
    def full(_: Path) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch, closing(Store(path, must_save=True)) as store:
        patch.setattr(stores, "make_folder", full)
        shutil.rmtree(path.parent)
        store.put("names", "one", {"array": np.arange(9_000)})
        assert why in store.problems[0]
        with pytest.raises(WorkspaceError, match=r"free some room|make it writable"):
            store.check_writable()
        assert set(store.get("names", ["one"])) == {"one"}
        patch.undo()
        store.save_rest()
    with closing(Store(path)) as store:
        assert set(store.get("names", ["one"])) == {"one"}


def test_a_cache_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WorkspaceError, match="make it writable or delete it"):
        Store(tmp_path / "file" / "index.sqlite")
