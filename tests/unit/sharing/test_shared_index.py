"""Indexes that a team shares: written from one store, read beneath another, from a folder and over HTTP."""

import http.server
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from winnow_engine.errors import SharedIndexError
from winnow_engine.sharing.index import SharedIndex, attach
from winnow_engine.sharing.publishing import publish
from winnow_engine.sharing.shards import CONTENTS, content_name, unpacked_contents
from winnow_engine.storage.store import Store, content_key

from .serving import WholeFiles, served

KEYS = [content_key(f"{number}.py", b"x") for number in range(40)]
NAMES = {"units-1": KEYS, "keys-1-a": KEYS[:30]}


def record(namespace: str, key: str) -> dict[str, np.ndarray]:
    seed = int.from_bytes(f"{namespace}{key}".encode()[-7:], "big")
    return {"codes": np.random.default_rng(seed).integers(-127, 127, (30, 64), np.int8)}


@pytest.fixture
def written(tmp_path: Path) -> Store:
    store = Store(tmp_path / "written.sqlite")
    for namespace, keys in NAMES.items():
        store.put_many(namespace, {key: record(namespace, key) for key in keys})
    return store


@pytest.fixture
def out(tmp_path: Path, written: Store) -> Path:
    publish(written, NAMES, 40, tmp_path / "index", "project")
    return tmp_path / "index"


@pytest.fixture
def reader(tmp_path: Path) -> Store:
    return Store(tmp_path / "reader.sqlite")


def shard_file(out: Path, kind: str) -> Path:
    shard = unpacked_contents((out / CONTENTS).read_bytes())["project"]
    return out / getattr(shard, kind)


class _Parts(http.server.SimpleHTTPRequestHandler):
    """Sends parts of files, as most servers do and Python's does not."""

    asked: tuple[str, ...] = ()

    def do_GET(self) -> None:
        type(self).asked = (*self.asked, self.headers.get("Range", ""))
        if "Range" not in self.headers:
            super().do_GET()
            return
        start, stop = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        data = Path(self.translate_path(self.path)).read_bytes()[start : stop + 1]
        self.send_response(206)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


def check_all(reader: Store) -> None:
    for namespace, keys in NAMES.items():
        assert reader.keys(namespace, KEYS) == set(keys)
        found = reader.get(namespace, KEYS)
        assert found.keys() == set(keys)
        for key in keys:
            np.testing.assert_array_equal(found[key]["codes"], record(namespace, key)["codes"])


def test_a_folder_gives_what_a_store_lacks_and_the_store_keeps_it(reader: Store, out: Path) -> None:
    attach(reader, [str(out)])
    check_all(reader)
    for path in out.iterdir():
        path.unlink()
    check_all(reader)
    assert reader.problems == ()


@pytest.mark.parametrize("handler", [_Parts, WholeFiles])
def test_a_server_gives_the_same_with_and_without_parts(
    reader: Store, out: Path, handler: type[http.server.SimpleHTTPRequestHandler]
) -> None:
    with served(out, handler) as url:
        attach(reader, [url])
        check_all(reader)


def test_an_index_counts_as_long_as_a_client_has_it_in_its_settings(reader: Store, out: Path) -> None:
    for client in ("one", "other"):
        attach(reader, [str(out)], client)
    attach(reader, [], "one")
    assert reader.get("units-1", KEYS[:1])
    attach(reader, [str(out / "moved")], "other")
    assert (reader.get("units-1", KEYS[1:2]), len(reader.problems)) == ({}, 1)
    reader.detach("other")
    assert not reader.problems


def test_a_changed_repository_takes_the_place_of_its_shard_and_leaves_others(
    written: Store, out: Path, reader: Store
) -> None:
    old = shard_file(out, "records")
    publish(written, {"units-1": KEYS[:5]}, 5, out, "other")
    publish(written, {"units-1": KEYS[:9]}, 9, out, "project")
    assert not old.exists()
    assert unpacked_contents((out / CONTENTS).read_bytes()).keys() == {"other", "project"}
    attach(reader, [str(out)])
    assert reader.keys("units-1", KEYS) == set(KEYS[:9])


def test_what_is_missing_from_the_cache_is_an_error_and_the_index_stays(written: Store, out: Path) -> None:
    before = (out / CONTENTS).read_bytes()
    with pytest.raises(SharedIndexError, match="1 record gone from the cache: index again"):
        publish(written, {"units-1": [*KEYS, content_key("new.py", b"")]}, 41, out, "project")
    assert (out / CONTENTS).read_bytes() == before
    assert not list(out.glob("*.tmp"))


def _cut(out: Path) -> None:
    path = shard_file(out, "table")
    path.write_bytes(path.read_bytes()[:-9])


def _flip(out: Path) -> None:
    _flip_in(shard_file(out, "table"), lambda size: size - 3)


def _flip_records(out: Path) -> None:
    _flip_in(shard_file(out, "records"), lambda size: size // 2)


def _flip_in(path: Path, place: Callable[[int], int]) -> None:
    data = bytearray(path.read_bytes())
    data[place(len(data))] ^= 1
    path.write_bytes(data)


def _no_file(out: Path, kind: str = "table") -> None:
    shard_file(out, kind).unlink()


def _no_json(out: Path) -> None:
    (out / CONTENTS).write_text("<html>sign in</html>")


def _replace(out: Path, old: bytes, new: bytes) -> None:
    assert old in (out / CONTENTS).read_bytes()
    (out / CONTENTS).write_bytes((out / CONTENTS).read_bytes().replace(old, new))


def _with_places(out: Path, places: np.ndarray) -> None:
    """A table whose hash is right and whose places are not."""
    arrays = load(shard_file(out, "table").read_bytes())
    data = save(arrays | {"place": np.broadcast_to(places, arrays["place"].shape).copy()})
    shard_file(out, "records").rename(out / f"{content_name(data)}.records")
    (out / f"{content_name(data)}.table").write_bytes(data)
    contents = json.loads((out / CONTENTS).read_bytes())
    (shard,) = contents["shards"].values()
    shard["table_bytes"], shard["content"] = len(data), content_name(data)
    (out / CONTENTS).write_text(json.dumps(contents))


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_cut, "half copied"),
        (_flip, "half copied, or was changed"),
        (_no_file, "cannot be read: No such file"),
        (lambda out: (out / CONTENTS).unlink(), "winnow-index.json cannot be read"),
        (lambda out: _replace(out, b'"format": 2', b'"format": 3'), "it has format 3, and this Winnow reads 2"),
        (_no_json, "is malformed"),
        (lambda out: (out / CONTENTS).write_text("[" * 100_000), "is malformed"),
        (lambda out: _with_places(out, np.array([0.5, 8.5])), "its table is malformed"),
        (lambda out: _with_places(out, np.array([-8, 8])), "its table is malformed"),
        (lambda out: _with_places(out, np.array([0, 1 << 60])), "is damaged"),
        (lambda out: _replace(out, b'"table_bytes": ', b'"table_bytes": -'), "has no sizes"),
        (lambda out: _replace(out, b'"content": "', b'"content": "../'), "names no shard"),
    ],
)
def test_an_unsound_index_counts_as_missing_and_says_why(reader: Store, out: Path, damage, said: str) -> None:
    damage(out)
    attach(reader, [str(out)])
    assert reader.get("units-1", KEYS) == {}
    (problem,) = reader.problems
    assert problem.startswith(f"the shared index {out} is not used: ")
    assert said in problem


def test_a_record_that_was_tampered_with_is_never_served(reader: Store, out: Path) -> None:
    _flip_records(out)
    attach(reader, [str(out)])
    for key, found in reader.get("units-1", KEYS).items():
        np.testing.assert_array_equal(found["codes"], record("units-1", key)["codes"])
    assert "is damaged: write it anew with `winnow index --out`" in reader.problems[0]


@pytest.mark.parametrize("damage", [_cut, _flip, _no_file, _flip_records, lambda out: _no_file(out, "records")])
def test_writing_an_unchanged_repository_again_mends_its_shard(
    written: Store, out: Path, reader: Store, damage: Callable[[Path], None]
) -> None:
    damage(out)
    publish(written, NAMES, 40, out, "project")
    attach(reader, [str(out)])
    check_all(reader)
    assert reader.problems == ()


def test_nothing_is_added_to_an_index_whose_contents_are_damaged(written: Store, out: Path) -> None:
    _no_json(out)
    with pytest.raises(SharedIndexError, match=r"is malformed: .*; write elsewhere, or delete it and write each"):
        publish(written, NAMES, 40, out, "project")


def test_an_index_that_failed_is_left_alone_for_a_while_and_then_tried_again(
    reader: Store, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("winnow_engine.sharing.index.time.monotonic", lambda: now)
    away = out.rename(out.with_name("away"))
    attach(reader, [str(out)])
    assert reader.get("units-1", KEYS) == {}
    away.rename(out)
    assert reader.get("units-1", KEYS) == {}
    now += 61
    assert len(reader.get("units-1", KEYS)) == len(KEYS)
    assert reader.problems == ()


@pytest.mark.parametrize(
    ("place", "said"), [("http://127.0.0.1:9", "cannot be fetched"), ("~nosuchuser/index", "~nosuchuser/index")]
)
def test_a_server_or_user_that_is_not_there_is_a_problem_not_an_error(reader: Store, place: str, said: str) -> None:
    attach(reader, [place])
    assert reader.get("units-1", KEYS) == {}
    assert said in reader.problems[0]


@pytest.mark.parametrize(("variable", "value"), [("ALL_PROXY", "odd://127.0.0.1:1"), ("SSL_CERT_FILE", "/nowhere")])
def test_a_server_that_the_environment_does_not_let_reach_is_a_problem_not_an_error(
    variable: str, value: str, reader: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    attach(reader, ["https://127.0.0.1:9"])
    assert reader.get("units-1", KEYS) == {}
    assert "its server cannot be reached by what the environment names" in reader.problems[0]


def test_a_file_that_is_longer_than_said_is_refused(out: Path) -> None:
    path = shard_file(out, "table")
    path.write_bytes(path.read_bytes() + b"x" * 10)
    index = SharedIndex(str(out))
    assert index.keys("units-1", KEYS) == set()
    assert index.problem is not None
    assert "has more than" in index.problem
