from pathlib import Path

import pytest

from winnow_engine.core import Cancellation, Cursor
from winnow_engine.errors import CancelledError, PositionError
from winnow_engine.index.files import FileRules
from winnow_engine.index.records import analysis_of, record_of
from winnow_engine.index.store import Store
from winnow_engine.index.symbols import analyse
from winnow_engine.index.workspace import Workspace, read_workspace

SOURCE = b"""\
import os


class Dog:
    'Barks.'

    def bark(self):
        return os.name


def main():
    Dog().bark()
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    (tmp_path / "pets").mkdir()
    (tmp_path / "pets" / "dog.py").write_bytes(SOURCE)
    (tmp_path / "a.txt").write_bytes("grüße\r\n\r\nzwei\r\n".encode())
    return read(tmp_path)


def read(root: Path) -> Workspace:
    store = Store(root.parent / "cache.sqlite")
    try:
        return read_workspace(root, FileRules(), store, Cancellation())
    finally:
        store.close()


def test_units_are_numbered_through_in_path_and_file_order(workspace: Workspace) -> None:
    assert [file.path for file in workspace.files] == ["a.txt", "pets/dog.py"]
    assert len(workspace.units) == workspace.unit_starts[-1]
    number = workspace.unit_at("pets/dog.py", 8)
    file, unit = workspace.units[number]
    assert (file.path, unit.name) == ("pets/dog.py", "Dog.bark")
    assert "".join(file.text_of(u) for u in file.units) == SOURCE.decode()


def test_second_read_takes_the_analysis_from_the_store(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: str, data: bytes) -> None:
        raise AssertionError(f"{path} was parsed again")

    monkeypatch.setattr("winnow_engine.index.workspace.analyse", fail)
    assert [f.units for f in read(workspace.root).files] == [f.units for f in workspace.files]


def test_analysis_survives_the_record() -> None:
    analysis = analyse("pets/dog.py", SOURCE)
    assert analysis_of(record_of(analysis)) == analysis


def test_symbols_point_at_definitions(workspace: Workspace) -> None:
    named, _ = workspace.symbols.score("who calls `bark`")
    assert workspace.units[int(named.argmax())][1].name == "Dog.bark"


def test_selected_text_is_the_selection_or_the_unit_around_the_cursor(workspace: Workspace) -> None:
    assert workspace.selected_text(Cursor("pets/dog.py", 8, 8)).startswith("    def bark")
    assert workspace.selected_text(Cursor("pets/dog.py", 11, 12)) == "def main():\n    Dog().bark()\n"


@pytest.mark.parametrize(("path", "line"), [("pets/dog.py", 13), ("pets/dog.py", 0), ("pets/cat.py", 1)])
def test_positions_that_do_not_exist_are_refused(workspace: Workspace, path: str, line: int) -> None:
    with pytest.raises(PositionError):
        workspace.unit_at(path, line)


def test_cancelled_read_stops(workspace: Workspace) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    store = Store(workspace.root.parent / "other.sqlite")
    with pytest.raises(CancelledError):
        read_workspace(workspace.root, FileRules(), store, cancellation)
    store.close()
