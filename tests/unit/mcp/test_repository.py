"""Places and lines of a workspace that a call is about."""

from collections.abc import Callable
from pathlib import Path

import pytest

from winnow_engine.core import Cancellation, Folder, Span, UnitKind
from winnow_engine.errors import BudgetError, PositionError
from winnow_engine.index.scope import matching_lines
from winnow_engine.index.workspace import Sources, Workspace
from winnow_engine.question import Cursor
from winnow_engine.selection.ranking import Selection, SelectionStats
from winnow_lsp.mcp.arguments import Arguments
from winnow_lsp.mcp.presentation import explained, found_code, found_lines, outlined
from winnow_lsp.mcp.repository import _paths, known_paths, lines_of_file, meant
from winnow_lsp.mcp.results import OutlineEntry

FILES = {
    "src/a.py": "import os\n\n\ndef total(items):\n    all_items = items\n    return sum(all_items)\n",
    "src/deep/b.py": f"LONG = '{'items ' * 60}'\n",
    "docs/b.py": "def one():\n    return 1\n\n\ndef one():\n    return 2\n\n\ndef two():\n    return 3\n",
}


@pytest.fixture
def workspace(tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace]) -> Workspace:
    return workspace_of(FILES, tmp_path)


@pytest.mark.parametrize(
    ("path", "first", "last", "lines"),
    [
        ("src/a.py", 2, None, (2, 2)),
        ("src/a.py", None, None, (1, 6)),
        ("src/a.py", 2, 4, (2, 4)),
        ("src/a.py", 4, 2, (2, 4)),
        ("src/a.py", 4, 0, (4, 4)),
        ("src/a.py", 2, -1, (2, 6)),
        ("src/a.py", 2, 9000, (2, 6)),
        ("a.py", 6, 6, (6, 6)),
        ("deep/b.py", 1, 1, (1, 1)),
        ("src/a.py", 7, 9, "has 6 lines; there is no line 7"),
        ("src", 1, 1, "src is a folder"),
        ("", 1, 1, "a folder"),
        ("b.py", 1, 1, "not among the workspace's files, but docs/b.py, src/deep/b.py$"),
        ("lib/a.py", 1, 1, "not among the workspace's files, but src/a.py$"),
        ("none.py", 1, 1, "not among the workspace's files; `winnow index --explain none.py` says why"),
    ],
)
def test_lines_that_exist(
    path: str, first: int | None, last: int | None, lines: tuple[int, int] | str, workspace: Workspace
) -> None:
    if isinstance(lines, str):
        with pytest.raises(PositionError, match=lines):
            lines_of_file(workspace, path, first, last)
        return
    cursor = lines_of_file(workspace, path, first, last)
    assert (cursor.start_line, cursor.end_line, cursor.path.endswith(path)) == (*lines, True)


def test_the_outline_of_a_folder_has_each_name_once(workspace: Workspace) -> None:
    [file] = outlined(workspace, "docs", Arguments(budget=100), lambda text: 1).entries
    assert file.defines == ["one", "two"]
    with pytest.raises(PositionError, match=r"not among the workspace's files, but src/a\.py"):
        outlined(workspace, "lib/a.py", Arguments(budget=100), lambda text: 1)


def test_headings_have_no_targets_of_links(
    tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace]
) -> None:
    text = "# [1.2](https://example.org/a...b) (May)\n\nFixed run.\n\n## Calls `f[1](x)`, [new]\n\nMuch.\n"
    workspace, asked = workspace_of({"NEWS.md": text}, tmp_path), Arguments(budget=1000)
    lines = {path: outlined(workspace, path, asked, len).page() for path in ("", "NEWS.md")}
    found = found_lines(workspace, matching_lines(workspace, [0], "Fixed", Cancellation()), asked, len).page()
    assert lines[""] == "NEWS.md 7 lines: 1.2 (May), Calls `f[1](x)`, [new]"
    assert "section 1.2 (May)" in lines["NEWS.md"]
    assert found.startswith("NEWS.md:1-4 section 1.2 (May)")
    assert explained(workspace, Cursor("NEWS.md", 1, 1), asked, len).inside == ["1.2 (May)"]


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        ("a.md", "# ![](logo.svg)\n\nMuch.\n", "![](logo.svg)"),
        ("a.md", "# [](#setup) Setup\n\nMuch.\n", "Setup"),
        ("a.md", "# [![CI](ci.svg)](https://example.org)\n\nMuch.\n", "CI"),
        ("a.kt", "fun `[a](b)`() {\n    run()\n}\n", "`[a](b)`"),
    ],
)
def test_names_that_links_are_in(
    path: str, text: str, name: str, tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace]
) -> None:
    [file] = outlined(workspace_of({path: text}, tmp_path), "", Arguments(budget=100), lambda text: 1).entries
    assert file.defines == [name]


def test_an_outline_says_a_path_once_and_how_many_names_it_leaves_out(
    tmp_path: Path, workspace_of: Callable[[dict[str, str], Path], Workspace]
) -> None:
    code = "".join(f"def one{number}():\n    return 1\n\n\n" for number in range(15)) + "LAST = 1\n"
    workspace = workspace_of(
        {"src/main/java/a.py": code, "src/main/java/org/b.py": "B = 1\n", "c.py": "def one0():\n    return 1\n"},
        tmp_path,
    )

    def page(path: str) -> list[str]:
        return outlined(workspace, path, Arguments(budget=1000), lambda text: len(text) // 4).page().splitlines()

    assert page("c.py") == ["c.py", "1-2 function one0"]
    assert page("") == ["src/main/java/ 2 files", "c.py 2 lines: one0"]
    folder, file = page("src/main/java")
    assert folder == "src/main/java/org/ 1 file"
    assert file.endswith("one10, one11 and 4 more")


def test_the_owner_of_a_name_is_said_once() -> None:
    names = ["Pool", "Pool.take", "Pool.Row", "Pool.Row.id", "open", "Pool.put", "Pool.all", "0.1.2", "0.1.1"]
    shown = "a.py 9 lines: Pool, .take, .Row, Pool.Row.id, open, Pool.put, .all, 0.1.2, 0.1.1"
    assert str(OutlineEntry(path="a.py", kind="file", lines=9, defines=names)) == shown


def test_code_that_is_cut_is_said_to_be_a_part(workspace: Workspace) -> None:
    whole, part = (Span("src/a.py", first, 6, 9, 1.0, UnitKind.FUNCTION, "total") for first in (4, 5))
    found = Selection(workspace, (whole, part), SelectionStats(9, 9, 9))
    code = "    all_items = items\n    return sum(all_items)"
    assert found_code(found, 100, lambda text: 1).page() == (
        f"src/a.py:4-6 function total\ndef total(items):\n{code}\n\nsrc/a.py:5-6 function total (part of 4-6)\n{code}"
    )


def test_paths_that_are_meant(workspace: Workspace, tmp_path: Path) -> None:
    assert [meant(workspace, path) for path in ("deep", "a.py", "src", "b.py")] == [
        "src/deep",
        "src/a.py",
        "src",
        "b.py",
    ]
    assert known_paths(workspace, ["a.py", "docs", "!src", "*.py"]) == (("a.py", "docs", "!src", "*.py"), ())
    assert known_paths(workspace, ["b.py", "src"]) == (("b.py", "src"), ())
    assert known_paths(workspace, ["c.py", "src"]) == (("src",), ("nothing is called c.py: looked in the others",))
    assert known_paths(workspace, ["*.rs"]) == ((), ("nothing is called *.rs: looked everywhere",))
    sources = Sources((Folder(tmp_path),))
    assert _paths(sources, ["src/", "!./docs/"]) == ("src", "!docs")
    assert _paths(sources, [str(tmp_path), "src", f"!{tmp_path}/docs"]) == ("!docs",)


def test_matching_lines_stand_below_the_unit_they_lie_in(workspace: Workspace) -> None:
    def page(budget: int) -> str:
        asked = Arguments(budget=budget, pattern="items")
        found = matching_lines(workspace, range(3), asked.pattern, Cancellation())
        return found_lines(workspace, found, asked, lambda text: len(text) // 4).page()

    long = "LONG = '" + "items " * 32 + "…"
    lines = "4: def total(items):\n5: all_items = items\n6: return sum(all_items)"
    assert page(1000) == f"src/a.py:4-6 function total\n{lines}\n\nsrc/deep/b.py:1 top_level\n1: {long}"
    assert page(40).startswith("Note: 2 of 4 lines that match: raise the budget")
    with pytest.raises(BudgetError):
        page(3)
