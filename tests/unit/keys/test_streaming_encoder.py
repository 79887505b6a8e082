"""On a device, files are encoded while others are still being read, with the same keys in the end."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from git_repositories import write

from winnow_engine.assistant import Assistant
from winnow_engine.core import Cancellation, Folder, ignore
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.file_encoder import FileKeys, FileText
from winnow_engine.errors import CancelledError, WorkspaceError
from winnow_engine.index import parse_pool
from winnow_engine.index.workspace import Sources
from winnow_engine.storage.store import Store


class Device:
    """A drafter on a device whose keys are lengths. `encoded` has the paths, `threads` who asked for them."""

    identity, notice, fusion = "device", None, None

    def __init__(self, place: str = "resident") -> None:
        self.place = place
        self.encoded: list[str] = []
        self.threads: set[int] = set()

    def count(self, text: str) -> int:
        return len(text)

    def encode(self, files: Iterable[FileText], cancellation: Cancellation) -> Iterator[FileKeys]:
        self.threads.add(threading.get_ident())
        for file in files:
            cancellation.check()
            self.encoded.append(file.path)
            tokens = np.array([len(unit) for unit in file.units], np.int32)
            yield FileKeys(tokens, {"codes": np.zeros((tokens.sum(), 4), np.int8)})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write(tmp_path / "root", {f"m{number:02}.py": f"def f{number}():\n    return {number}\n" for number in range(30)})
    return tmp_path / "root"


def indexed(root: Path, store: Store, device: Device, cancellation: Cancellation | None = None) -> None:
    with closing(Assistant(store, lambda: cast(Drafter, device))) as assistant:
        assistant.index(Sources((Folder(root),)), ignore, cancellation)


def test_a_device_encodes_what_is_read_and_nothing_twice(root: Path, store: Store) -> None:
    device = Device()
    indexed(root, store, device)
    assert device.encoded == [f"m{number:02}.py" for number in range(30)]
    assert threading.get_ident() not in device.threads
    (root / "m07.py").write_text("def changed():\n    pass\n")
    indexed(root, store, device)
    assert device.encoded[30:] == ["m07.py"]


def test_what_reading_raises_ends_the_encoding(root: Path, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    analysed = parse_pool.analysed

    def fails(path: str, data: bytes) -> Any:
        if path == "m20.py":
            raise WorkspaceError("gone")
        return analysed(path, data)

    monkeypatch.setattr(parse_pool, "analysed", fails)
    device = Device()
    with pytest.raises(WorkspaceError, match="gone"):
        indexed(root, store, device)
    assert set(device.encoded) <= {f"m{number:02}.py" for number in range(20)}


def test_what_was_encoded_before_it_was_cancelled_is_kept(root: Path, store: Store) -> None:
    cancellation = Cancellation()

    class Late(Device):
        def encode(self, files: Iterable[FileText], _: Cancellation) -> Iterator[FileKeys]:
            for keys in super().encode(files, cancellation):
                if len(self.encoded) == 10:
                    cancellation.cancel()
                yield keys

    first, second = Late(), Device()
    with pytest.raises(CancelledError):
        indexed(root, store, first, cancellation)
    indexed(root, store, second)
    assert len(first.encoded) == 10
    assert sorted(second.encoded) == [f"m{number:02}.py" for number in range(10, 30)]


@pytest.mark.parametrize("place", ["resident", "cpu"])
def test_a_cache_that_can_only_be_read_is_refused_once_there_is_something_to_encode(
    place: str, root: Path, tmp_path: Path
) -> None:
    with closing(Store(tmp_path / "index.sqlite", must_save=True)) as store:
        indexed(root, store, Device(place))
        store._connection.execute("PRAGMA query_only=1")
        indexed(root, store, device := Device(place))
        other = Device(place)
        other.identity = "other"
        with pytest.raises(WorkspaceError, match="make it writable"):
            indexed(root, store, other)
        write(root, {"new.py": "x = 1\n"})
        with pytest.raises(WorkspaceError, match="make it writable"):
            indexed(root, store, device)
    assert device.encoded == other.encoded == []
