from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Literal
from unicodedata import normalize

import pytest

from winnow_engine.core import Cancellation, Folder
from winnow_engine.errors import CancelledError, PositionError
from winnow_engine.index.files import look
from winnow_engine.index.workspace import Sources, Workspace, read_workspace
from winnow_engine.question import WHY, CodeAtCursor, Cursor, Question
from winnow_engine.storage.store import Store

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
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "pets").mkdir(parents=True)
    (root / "pets" / "dog.py").write_bytes(SOURCE)
    (root / "a.txt").write_bytes("grüße\r\n\r\nzwei\r\n".encode())
    return root


@pytest.fixture
def workspace(root: Path) -> Workspace:
    return read(Folder(root))


def read(*folders: Folder, open_documents: Mapping[str, bytes] | None = None) -> Workspace:
    with closing(Store(folders[0].root.parent / "cache.sqlite")) as store:
        return read_workspace(Sources(folders, open_documents=open_documents or {}), store, Cancellation())


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_a_path_is_found_however_its_accents_are_written(root: Path, form: Literal["NFC", "NFD"]) -> None:
    (root / normalize("NFC", "é.py")).write_bytes(b"x = 1\n")
    (root / normalize("NFD", "ü.py")).write_bytes(b"x = 2\n")
    found = read(Folder(root))
    for name in ("é.py", "ü.py"):
        file = found.file_at(normalize(form, name))
        assert file is not None
        assert (normalize("NFC", file.path), found.files[found.file_number(normalize(form, name))]) == (name, file)


def test_an_unchanged_workspace_is_the_one_read_before(root: Path, store: Store) -> None:
    sources = Sources((Folder(root),))
    before = read_workspace(sources, store, Cancellation())
    assert read_workspace(sources, store, Cancellation(), before) is before
    (root / "a.txt").unlink()
    assert [file.path for file in read_workspace(sources, store, Cancellation(), before).files] == ["pets/dog.py"]


def test_a_file_that_moved_to_another_folder_is_read_anew(root: Path, store: Store) -> None:
    before = read_workspace(Sources((Folder(root, "one"),)), store, Cancellation())
    after = read_workspace(Sources((Folder(root, "two"),)), store, Cancellation(), before)
    assert [file.path for file in after.files] == ["two/a.txt", "two/pets/dog.py"]


def test_the_code_at_a_cursor_is_the_selection_or_the_unit_around_the_cursor(workspace: Workspace) -> None:
    assert workspace.code_at(Cursor("pets/dog.py", 8, 8)).text.startswith("    def bark")
    assert workspace.code_at(Cursor("pets/dog.py", 11, 12)) == CodeAtCursor("def main():\n    Dog().bark()\n", "python")


@pytest.mark.parametrize(("path", "line"), [("pets/dog.py", 13), ("pets/dog.py", 0), ("pets/cat.py", 1)])
def test_positions_that_do_not_exist_are_refused(workspace: Workspace, path: str, line: int) -> None:
    with pytest.raises(PositionError):
        workspace.unit_at(path, line)


@pytest.mark.parametrize(("text", "changes"), [("What does this do?", None), ("How did it start?", WHY)])
def test_a_question_keeps_a_cursor_outside_of_the_files_only_if_it_is_about_it(
    workspace: Workspace, text: str, changes: str | None
) -> None:
    outside = Cursor("pets/__init__.py", 1, 1)
    assert workspace.located(Question("Where do dogs bark?", outside)) == Question("Where do dogs bark?")
    with pytest.raises(PositionError, match="not among"):
        workspace.located(Question(text, outside, changes=changes))


def test_cancelled_read_stops(root: Path, store: Store) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(CancelledError):
        read_workspace(Sources((Folder(root),)), store, cancellation)


def test_open_documents_count_instead_of_the_disk(root: Path) -> None:
    edited = read(Folder(root), open_documents={"pets/dog.py": b"def meow():\n    pass\n"})
    assert [unit.name for file, unit in edited.units if file.path == "pets/dog.py"] == ["meow"]


def test_a_new_document_counts_before_it_is_saved_unless_a_rule_leaves_it_out(root: Path) -> None:
    (root / ".gitignore").write_text("*.log\n")
    new = {"pets/cat.py": b"x = 1\n", "pets/.env": b"SECRET=1\n", "pets/run.log": b"ran\n", "gone/a.py": b"y = 1\n"}
    found = [file.path for file in read(Folder(root), open_documents=new).files]
    assert found == [".gitignore", "a.txt", "pets/cat.py", "pets/dog.py"]


def test_open_documents_are_assigned_to_folders_once(root: Path) -> None:
    class Documents(dict[str, bytes]):
        passes = 0

        def __iter__(self) -> Iterator[str]:
            self.passes += 1
            return super().__iter__()

    documents = Documents({"pets/cat.py": b"x = 1\n"})
    assert [path for path, _ in look(root, open_documents=documents)] == ["a.txt", "pets/cat.py", "pets/dog.py"]
    assert documents.passes == 1


def test_an_open_document_that_became_binary_does_not_count(root: Path) -> None:
    assert [file.path for file in read(Folder(root), open_documents={"pets/dog.py": b"\0\1\2"}).files] == ["a.txt"]


def test_several_folders_name_their_files_and_keep_their_keys(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.py").write_bytes(b"b = 1\n")
    documents = {"two/b.py": b"b = 2\n", "one/pets/dog.py": SOURCE}
    both = read(Folder(other, "two"), Folder(root, "one"), open_documents=documents)
    assert [file.path for file in both.files] == ["one/a.txt", "one/pets/dog.py", "two/b.py"]
    assert [file.data for file in both.files][2] == b"b = 2\n"
    assert [file.key for file in both.files][:2] == [file.key for file in read(Folder(root)).files]


def test_a_file_under_two_folders_counts_once_for_the_inner_one(root: Path) -> None:
    nested = read(Folder(root, "outer"), Folder(root / "pets", "inner"))
    assert [file.path for file in nested.files] == ["inner/dog.py", "outer/a.txt"]


def test_the_empty_line_after_the_last_one_is_the_last_one(workspace: Workspace) -> None:
    assert workspace.settled(Cursor("pets/dog.py", 13, 13)) == Cursor("pets/dog.py", 12, 12)
    assert workspace.settled(Cursor("pets/dog.py", 11, 13)) == Cursor("pets/dog.py", 11, 12)
    assert workspace.settled(Cursor("pets/dog.py", 14, 14)) == Cursor("pets/dog.py", 14, 14)
