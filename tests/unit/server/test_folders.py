"""URIs and positions to workspace paths and lines, and back."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types
from pygls.workspace import TextDocument

from winnow_engine.core import Citation
from winnow_engine.errors import PositionError
from winnow_engine.question import Cursor
from winnow_lsp.host.roots import file_path
from winnow_lsp.server.session.editor import EditorState, Folders


def workspace_folder(root: Path, name: str = "") -> types.WorkspaceFolder:
    return types.WorkspaceFolder(root.as_uri(), name)


def folders(*roots: Path) -> Folders:
    return Folders().changed([workspace_folder(root) for root in roots])


def lines(first: int, last: int, character: int = 5) -> types.Range:
    return types.Range(types.Position(first, 0), types.Position(last, character))


def test_folders_come_and_go(tmp_path: Path) -> None:
    left, right = tmp_path / "left", tmp_path / "right"
    changing = folders(left)
    changing = changing.changed([workspace_folder(right)])
    assert changing.roots == (left, right)
    changing = changing.changed([], [left.as_uri(), (tmp_path / "never").as_uri()])
    assert changing.roots == (right,)
    assert changing.path((right / "a.py").as_uri()) == "a.py"
    assert changing.find((left / "a.py").as_uri()) is None


def test_a_folder_that_is_no_file_uri_is_left_out(tmp_path: Path) -> None:
    far, new = types.WorkspaceFolder("vscode-remote://ssh/x", "x"), tmp_path / "new"
    assert folders(tmp_path).changed([workspace_folder(new), far], [far.uri]).roots == (tmp_path, new)


@pytest.mark.parametrize(
    "uri",
    [
        "{root}/../secret.py",
        "{root}/src/../../secret.py",
        "{root}/%2e%2e/secret.py",
        "{root}/..%2fsecret.py",
        "{root}x/a.py",
        "{root}",
        "file:///etc/passwd",
        "untitled:Untitled-1",
        "winnow:/1-x.md",
        "https://example.com/a.py",
        "a.py",
        "",
        "file:",
        "file:a.py",
        "file://[half/a.py",
        "file:///a%00b",
        "file:///\ud800",
        "{root}/\ud800.py",
    ],
)
def test_what_is_outside_is_refused(tmp_path: Path, uri: str) -> None:
    one = folders(tmp_path)
    outside = uri.format(root=tmp_path.as_uri())
    assert one.find(outside) is None
    with pytest.raises(PositionError, match="outside the workspace"):
        one.path(outside)


def test_a_link_to_the_folder_is_followed(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    assert folders(link).find((real / "a.py").as_uri()) == "a.py"
    assert folders(real).find((link / "a.py").as_uri()) == "a.py"


def test_a_document_behind_a_link_is_the_file_that_it_leads_to(tmp_path: Path) -> None:
    left, right = tmp_path / "left", tmp_path / "right"
    for folder in (left / "app", left / "shared", right / "deep"):
        folder.mkdir(parents=True)
    (left / "app" / "lib").symlink_to("../shared")
    (left / "r").symlink_to(right / "deep")
    (left / "out.py").symlink_to(tmp_path / "outside.py")
    behind, new = (left / "app/lib/a.py").as_uri(), (left / "app/lib/new.py").as_uri()
    (left / "shared" / "a.py").write_text("def old(): ...\n")
    one, both = folders(left), folders(left, right)
    assert [one.find(uri) for uri in (behind, new)] == ["shared/a.py", "shared/new.py"]
    assert both.find((left / "r/a.py").as_uri()) == "right/deep/a.py"
    assert one.find((left / "out.py").as_uri()) == "out.py"
    documents = [TextDocument(behind, "def edited(): ...\n", 1)]
    editor = EditorState(lambda: documents)
    editor.folders = one
    assert editor.sources(one).open_documents == {"shared/a.py": b"def edited(): ...\n"}
    now, before = Citation("shared/a.py", 1, 1), Citation("shared/a.py", 1, 1, "1" * 40)
    shown = [editor.current_folders().location(place).uri for place in (now, before)]
    assert shown == [behind, (left / "shared/a.py").as_uri()]
    documents[:0] = [TextDocument((left / "shared/a.py").as_uri(), "def itself(): ...\n", 1)]
    assert editor.sources(one).open_documents == {"shared/a.py": b"def itself(): ...\n"}


@settings(deadline=None)
@given(name=st.binary(min_size=1, max_size=20).filter(lambda b: not {0, 47} & set(b) and b not in (b".", b"..")))
def test_any_file_name_survives_its_uri(name: bytes) -> None:
    path = Path("/w") / os.fsdecode(name)
    assert file_path(path.as_uri()) == path


@pytest.mark.parametrize(
    ("at", "first", "last"),
    [(lines(3, 3, 0), 4, 4), (lines(3, 3, 9), 4, 4), (lines(3, 5, 2), 4, 6), (lines(3, 5, 0), 4, 5),
     (lines(3, 4, 0), 4, 4)],
)  # fmt: skip
def test_ranges_become_whole_lines(tmp_path: Path, at: types.Range, first: int, last: int) -> None:
    assert folders(tmp_path).cursor((tmp_path / "a.py").as_uri(), at) == Cursor("a.py", first, last)


def test_a_path_whose_folder_is_gone_is_an_error_of_its_own(tmp_path: Path) -> None:
    both = folders(tmp_path / "left", tmp_path / "right")
    with pytest.raises(PositionError, match="ask again"):
        both.uri("gone/a.py")
