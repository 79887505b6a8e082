"""docs/architecture.md is a map: every file, folder and function it names is there. CONTRIBUTING has the rooms."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "cuda", ROOT / "engine", ROOT / "lsp_server", ROOT)
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
ROOMS = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Find your way")[2].partition("\n## ")[0]
_CACHES = {"snapshots/", "weights/", "numba/"}
_NAMED = re.compile(r"`((?:\w+/)+(?:\w+\.py)?)(?::([\w.]+))?`")


def found(path: str) -> Path | None:
    """Where a path that begins with a package stands; None if it does not."""
    return next((source / path for source in SOURCES if (source / path).exists()), None)


def defined(file: Path) -> set[str]:
    """Functions and classes of a file, and methods as CLASS.METHOD."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        if isinstance(node, kinds):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, kinds)}
    return names


@pytest.mark.parametrize("path", sorted({match[1] for match in _NAMED.finditer(PAGE)} - _CACHES))
def test_every_place_on_the_map_exists(path: str) -> None:
    rooms = ["", "winnow_engine/targets/"]  # `local/` is said within its room
    assert any(found(room + path) for room in rooms)


@pytest.mark.parametrize(("path", "name"), sorted({(m[1], m[2]) for m in _NAMED.finditer(PAGE) if m[2]}))
def test_every_function_on_the_map_exists(path: str, name: str) -> None:
    file = found(path)
    assert file is not None
    assert name in defined(file)


@pytest.mark.parametrize("package", ["winnow_engine", "winnow_lsp", "winnow_cuda"])
def test_every_room_is_in_the_table_of_rooms(package: str) -> None:
    base = next(source / package for source in SOURCES if (source / package).is_dir())
    rooms = {room.name for room in base.iterdir() if (room / "__init__.py").is_file()}
    rows = [line for line in ROOMS.splitlines() if line.startswith("|")]
    assert rooms <= {name.rpartition("/")[2] for name in re.findall(r"`([\w/]+)`", "".join(rows))}
