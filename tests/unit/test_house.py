"""`.ci/house` counts a small tree right."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from git_repositories import write

HOUSE = Path(__file__).parents[2] / ".ci" / "house"
PASSAGE = "".join(f"    step_{n}()\n" for n in range(6))
SIGNATURE = "".join(f"    step_{n}: int,\n" for n in range(6))
IMPORTS = f"from winnow_engine.index.units import (\n{SIGNATURE.replace(': int', '')})\n"
TREE = {
    "pyproject.toml": """
        [tool.hatch.build.targets.wheel]
        packages = ["lsp_server/winnow_lsp", "engine/winnow_engine"]
        """,
    "engine/winnow_engine/__init__.py": "",
    "engine/winnow_engine/assistant.py": "from winnow_engine.index import files\n\n\nclass Found:\n    pass\n",
    "engine/winnow_engine/index/__init__.py": "",
    "engine/winnow_engine/index/files.py": (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from winnow_engine import assistant\n"
    ),
    "engine/winnow_engine/index/names.py": f"{IMPORTS}\n\ndef third(\n{SIGNATURE}):\n    pass\n",
    "engine/winnow_engine/index/symbols.py": f"{IMPORTS}\n\ndef fourth(\n{SIGNATURE}):\n    pass\n",
    "engine/winnow_engine/index/units.py": f"def first():\n{PASSAGE}",
    "engine/winnow_engine/index/words.py": f"class Found:\n    pass\n\n\ndef second():\n{PASSAGE}",
    "engine/winnow_research/__init__.py": "",
    "engine/winnow_research/run.py": "def third():\n    pass\n",
    "lsp_server/winnow_lsp/__init__.py": "",
    "lsp_server/winnow_lsp/host/settings.py": 'SETTINGS = (Setting("drafter", 1), Setting("budget", 2))\n',
    "tests/test_it.py": "assert True\n",
    "vscode-extension/package.json": json.dumps(
        {
            "contributes": {
                "commands": [{"command": "ask"}, {"command": "open"}],
                "menus": {"commandPalette": [{"command": "open", "when": "false"}]},
            }
        }
    ),
    "docs/architecture.md": f"""
# Architecture

{"x" * 121}
| {"x" * 121} |
""",
    "docs/long.md": "word " * 30 + "\n" + "word\n" * 1200,
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("house")
    write(root, TREE)
    return root


def run(root: Path, *arguments: str) -> str:
    command = [sys.executable, str(HOUSE), "--root", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def counted(root: Path) -> dict[str, Any]:
    counted: dict[str, Any] = json.loads(run(root, "--json"))
    return counted


def test_lines_are_counted_by_what_is_shipped(counted: dict[str, Any]) -> None:
    assert (counted["shipped_lines"], counted["research_lines"], counted["test_lines"]) == (66, 2, 1)
    rooms = {"winnow_engine": 5, "winnow_engine/index": 60, "winnow_lsp": 0, "winnow_lsp/host": 1, "winnow_research": 2}
    assert counted["lines"] == rooms
    assert counted["engine_rooms"] == ["winnow_engine/index"]
    assert counted["loose_engine_modules"] == ["winnow_engine/assistant.py"]
    assert counted["function_median_and_p90"] == {"engine": [8.0, 9], "research": [2, 2]}


def test_what_stands_twice_is_found(counted: dict[str, Any]) -> None:
    found = ["winnow_engine/assistant.py", "winnow_engine/index/words.py"]
    assert counted["classes_defined_twice"] == {"Found": found}
    assert counted["duplicated_passages"] == ["winnow_engine/index/words.py:6 repeats winnow_engine/index/units.py"]


LIMITS = """
settings = {settings}
classes_defined_twice = {classes}
import_cycles = 1
[function_p90]
engine = 9
research = 2
[lines]
winnow_engine = 5
"winnow_engine/index" = 60
"winnow_lsp/host" = {host}
winnow_research = 2
"""
HELD = {"settings": 2, "classes": 1, "host": 1}
GIT = ("git", "-c", "user.name=Winnow", "-c", "user.email=winnow@example.com")


@pytest.fixture
def repository(root: Path, tmp_path: Path) -> Path:
    copy = shutil.copytree(root, tmp_path / "house")
    subprocess.run([*GIT, "init", "--quiet", str(copy)], check=True)
    return copy


def limited(repository: Path, message: str, **limits: int) -> str:
    """Commit the limits and check them. Returns what is wrong."""
    (repository / "house.toml").write_text(LIMITS.format(**HELD | limits))
    subprocess.run([*GIT, "add", "--all"], cwd=repository, check=True)
    subprocess.run([*GIT, "commit", "--quiet", "--message", message], cwd=repository, check=True)
    command = [sys.executable, str(HOUSE), "--root", str(repository), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert bool(done.returncode) == bool(done.stderr)
    return done.stderr.strip()


def test_counts_within_their_limits_pass(repository: Path) -> None:
    assert limited(repository, "Hold limits") == ""


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"settings": 1}, "settings: 2, at most 1: drafter, budget"),
        ({"classes": 0}, "classes defined twice: 1, at most 0: Found"),
        ({"host": 0}, "winnow_lsp/host: 1 lines, at most 0"),
    ],
)
def test_a_count_over_its_limit_fails(limits: dict[str, int], said: str, repository: Path) -> None:
    assert limited(repository, "Hold limits", **limits) == said


def test_a_limit_is_raised_with_a_reason_only(repository: Path) -> None:
    limited(repository, "Hold limits", host=10)
    assert limited(repository, "Lower one", host=5) == ""
    assert limited(repository, "Raise it\n\nHouse: settings need room", host=6) == ""
    assert "raises lines of winnow_lsp/host without a line" in limited(repository, "Raise it", host=7)
