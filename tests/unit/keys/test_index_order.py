import os
from contextlib import closing
from pathlib import Path

from winnow_engine.core import Cancellation, Folder
from winnow_engine.index.workspace import Sources, read_workspace
from winnow_engine.keys.encoders import first_to_index
from winnow_engine.storage.store import Store

DAY = 24 * 3600


def first(root: Path, times: dict[str, int], open_documents: dict[str, bytes]) -> list[str]:
    """The order for files last written so many seconds after a day in 2020."""
    root.mkdir()
    for name, time in times.items():
        (root / name).write_text("x = 1\n")
        os.utime(root / name, (1_600_000_000 + time,) * 2)
    sources = Sources((Folder(root),), open_documents=open_documents)
    with closing(Store(root.parent / "index.sqlite")) as store:
        return first_to_index(sources, read_workspace(sources, store, Cancellation()).files)


def test_open_files_come_first_then_what_changed_last(tmp_path: Path) -> None:
    times = {"a.py": 0, "b.py": 2 * DAY, "c.py": 5, "d.py": 3 * DAY, "e.py": 0, "f.py": 9, "g.py": 0}
    opened = {"f.py": b"y = 2\n", "new.py": b"z = 3\n", "gone/else.txt": b""}
    assert first(tmp_path / "root", times, opened) == ["f.py", "new.py", "d.py", "b.py"]


def test_after_a_checkout_none_comes_first(tmp_path: Path) -> None:
    assert first(tmp_path / "root", {f"{name}.py": number for number, name in enumerate("abcdef")}, {}) == []


def test_of_many_only_the_last_come_first(tmp_path: Path) -> None:
    times = {f"old{i}.py": 0 for i in range(130)} | {f"new{i}.py": DAY + i for i in range(120)}
    assert first(tmp_path / "root", times, {}) == [f"new{i}.py" for i in range(119, 19, -1)]
