"""Paths as agents write them."""

from pathlib import Path

import pytest

from winnow_engine.core import Folder
from winnow_engine.errors import PositionError
from winnow_lsp.mcp.workspace import workspace_place

FILES = ("src/a.py", "src/[id]/b.py", "docs/d.md", "odd\\name.py", "src/a:7.py")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The folder `shop/api`, with a link to it, beside `shop/web`."""
    for file in (*FILES, "../web/index.js"):
        path = tmp_path / "shop" / "api" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / "link").symlink_to(tmp_path / "shop" / "api")
    return tmp_path / "shop" / "api"


@pytest.mark.parametrize(
    ("written", "path"),
    [
        *((one, "src/a.py") for one in ("src/a.py", "./src/a.py", " src//a.py ", "docs/../src/a.py", "/src/a.py")),
        *((one, "src/a.py") for one in ("{root}/src/a.py", "file://{root}/src/a.py", "{link}/src/a.py")),
        *(
            (one, "src/a.py")
            for one in ("src\\a.py", ".\\src\\a.py", "api/src/a.py", "shop/api/src/a.py", "../api/src/a.py")
        ),
        *((one, "src/a.py") for one in ("src/a.py:12", "src/a.py:12-20", "src/a.py:12:5", "{root}/src/a.py#L1-L9")),
        *((one, "src") for one in ("src/", "./src", "{root}/src/", "file://{root}/src", "src\\", "api/src/")),
        *((one, "") for one in ("", ".", "./", "{root}", "{root}/", "file://{root}", "api", "src/..")),
        ("file://{root}/src/%5Bid%5D/b.py", "src/[id]/b.py"),
        ("src/[id]/b.py", "src/[id]/b.py"),
        ("odd\\name.py", "odd\\name.py"),
        ("src/a:7.py", "src/a:7.py"),
        ("{root}/src/*.py", "src/*.py"),
        ("api/src/**", "src/**"),
        ("**/*.py", "**/*.py"),
        ("gone/x.py", "gone/x.py"),
        ("{root}/gone.py", "gone.py"),
        ("x" * 5000, "x" * 5000),
    ],
)
def test_a_path_is_found_however_it_is_written(written: str, path: str, root: Path) -> None:
    link = root.parents[1] / "link"
    assert workspace_place([Folder(root)], written.format(root=root, link=link))[0] == path


@pytest.mark.parametrize(
    "written", ["/etc/passwd", "../web", "{root}/../web", "..", "/", "file:///etc", "../../../etc/passwd", "~/x"]
)
def test_a_path_outside_is_said_to_be(written: str, root: Path) -> None:
    with pytest.raises(PositionError, match=f"outside the workspace, {root}"):
        workspace_place([Folder(root)], written.format(root=root))


@pytest.mark.parametrize("written", ["file://", "file:src/a.py", "file:///%00", "src\0", "file://[x"])
def test_what_is_no_path_is_refused(written: str, root: Path) -> None:
    with pytest.raises(PositionError):
        workspace_place([Folder(root)], written)


@pytest.mark.parametrize(
    ("written", "lines"),
    [("src/a.py", None), ("src/a.py:12", (12, 12)), ("src/a.py:12-20", (12, 20)), ("src/a.py:12:5", (12, 12))],
)
def test_lines_behind_a_path_are_read(written: str, lines: tuple[int, int] | None, root: Path) -> None:
    assert workspace_place([Folder(root)], written) == ("src/a.py", lines)
    assert workspace_place([Folder(root)], written.removeprefix("src/")) == ("a.py", lines)
    assert workspace_place([Folder(root)], written.replace("src/", "lib\\")) == ("lib/a.py", lines)


@pytest.mark.parametrize(
    ("written", "path"),
    [("web/index.js", "web/index.js"), ("index.js", "web/index.js"), ("src/a.py", "api/src/a.py"), ("web", "web")],
)
def test_several_folders_are_told_apart(written: str, path: str, root: Path) -> None:
    folders = [Folder(root, "api"), Folder(root.parent / "web", "web")]
    assert workspace_place(folders, written)[0] == path
    assert workspace_place(folders, str(root / "src"))[0] == "api/src"
    assert workspace_place(folders, str(root.parent / "web"))[0] == "web"
