"""URIs and positions to workspace paths and lines, and back."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lsprotocol import types

from winnow_engine.config import FileRules
from winnow_engine.core import Citation
from winnow_engine.errors import PositionError, WorkspaceError
from winnow_engine.question import Cursor
from winnow_lsp.host.roots import file_path
from winnow_lsp.server.session.editor import Folders

ODD = "a b#c?d%41ü"


def workspace_folder(root: Path, name: str = "") -> types.WorkspaceFolder:
    return types.WorkspaceFolder(root.as_uri(), name)


def folders(*roots: Path) -> Folders:
    return Folders().changed([workspace_folder(root) for root in roots])


def lines(first: int, last: int, character: int = 5) -> types.Range:
    return types.Range(types.Position(first, 0), types.Position(last, character))


def test_a_single_folders_paths_have_no_prefix(tmp_path: Path) -> None:
    one = folders(tmp_path)
    uri = (tmp_path / "src" / "a.py").as_uri()
    assert one.path(uri) == "src/a.py"
    assert one.uri("src/a.py") == uri


def test_several_folders_paths_begin_with_their_names(tmp_path: Path) -> None:
    both = folders(tmp_path / "left", tmp_path / "right")
    for side in ("left", "right"):
        uri = (tmp_path / side / "a.py").as_uri()
        assert both.path(uri) == f"{side}/a.py"
        assert both.uri(f"{side}/a.py") == uri


def test_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    roots = [tmp_path / str(number) / "api" for number in range(3)]
    paths = [folders(*roots).path((root / "a.py").as_uri()) for root in roots]
    assert paths == ["api/a.py", "api'/a.py", "api''/a.py"]


def test_the_name_a_client_gives_is_used(tmp_path: Path) -> None:
    both = Folders().changed([workspace_folder(tmp_path / "x", "back/end"), workspace_folder(tmp_path / "y")])
    assert both.path((tmp_path / "x" / "a.py").as_uri()) == "back-end/a.py"


def test_a_file_under_two_folders_belongs_to_the_inner_one(tmp_path: Path) -> None:
    both = folders(tmp_path, tmp_path / "inner")
    assert both.path((tmp_path / "inner" / "a.py").as_uri()) == "inner/a.py"


def test_folders_come_and_go(tmp_path: Path) -> None:
    left, right = tmp_path / "left", tmp_path / "right"
    changing = folders(left)
    changing = changing.changed([workspace_folder(right)])
    assert changing.roots == (left, right)
    changing = changing.changed([], [left.as_uri(), (tmp_path / "never").as_uri()])
    assert changing.roots == (right,)
    assert changing.path((right / "a.py").as_uri()) == "a.py"
    assert changing.find((left / "a.py").as_uri()) is None


def test_a_trailing_slash_is_the_same_folder(tmp_path: Path) -> None:
    one = folders(tmp_path)
    one.changed([types.WorkspaceFolder(tmp_path.as_uri() + "/", "")])
    assert one.roots == (tmp_path,)


def test_a_folder_that_is_no_file_uri_changes_nothing(tmp_path: Path) -> None:
    one = folders(tmp_path)
    with pytest.raises(PositionError, match="not a file"):
        one.changed([workspace_folder(tmp_path / "new"), types.WorkspaceFolder("vscode-remote://ssh/x", "x")])
    assert one.roots == (tmp_path,)


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


def test_names_with_reserved_characters_come_back_as_they_are(tmp_path: Path) -> None:
    one = folders(tmp_path / ODD)
    uri = (tmp_path / ODD / f"{ODD}.py").as_uri()
    assert one.path(uri) == f"{ODD}.py"
    assert one.uri(f"{ODD}.py") == uri


@settings(deadline=None)
@given(name=st.binary(min_size=1, max_size=20).filter(lambda b: not {0, 47} & set(b) and b not in (b".", b"..")))
def test_any_file_name_survives_its_uri(name: bytes) -> None:
    path = Path("/w") / os.fsdecode(name)
    assert file_path(path.as_uri()) == path


def test_there_is_nothing_to_read_without_a_folder() -> None:
    with pytest.raises(WorkspaceError, match="no folder is open"):
        Folders().sources(FileRules(), {})


def test_only_open_documents_inside_count(tmp_path: Path) -> None:
    inside, outside = (tmp_path / "in" / "a.py").as_uri(), (tmp_path / "out.py").as_uri()
    documents = {inside: "x = '\ud800'\n", outside: "y", "untitled:1": "z", "file://[half": "w"}
    sources = folders(tmp_path / "in").sources(FileRules(), documents)
    assert sources.open_documents == {"a.py": b"x = '?'\n"}


@pytest.mark.parametrize(
    ("at", "first", "last"),
    [
        (lines(3, 3, 0), 4, 4),
        (lines(3, 3, 9), 4, 4),
        (lines(3, 5, 2), 4, 6),
        (lines(3, 5, 0), 4, 5),
        (lines(3, 4, 0), 4, 4),
    ],
)
def test_ranges_become_whole_lines(tmp_path: Path, at: types.Range, first: int, last: int) -> None:
    assert folders(tmp_path).cursor((tmp_path / "a.py").as_uri(), at) == Cursor("a.py", first, last)


def test_lines_become_locations_of_whole_lines(tmp_path: Path) -> None:
    location = folders(tmp_path).location(Citation("a.py", 2, 4))
    assert location == types.Location(
        (tmp_path / "a.py").as_uri(), types.Range(types.Position(1, 0), types.Position(4, 0))
    )


def test_a_path_whose_folder_is_gone_is_an_error_of_its_own(tmp_path: Path) -> None:
    both = folders(tmp_path / "left", tmp_path / "right")
    with pytest.raises(PositionError, match="ask again"):
        both.uri("gone/a.py")
