"""`.ci/house` counts a small tree right."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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
    "docs/architecture.md": f"""
# Architecture

1. `winnow_engine/errors.py` stands in another list.

## The files a question passes

Hand-kept.

1. `winnow_engine/assistant.py`: `Assistant.ask`
2. `engine/winnow_engine/index/files.py`, then `scan`
3. `index/units.py`
   - `winnow_engine/storage/store.py`
4. `winnow_engine/assistant.py`

## Words

{"x" * 121}
| {"x" * 121} |
""",
    "docs/long.md": "word " * 30 + "\n" + "word\n" * 1200,
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("house")
    for name, text in TREE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def run(root: Path, *arguments: str) -> str:
    command = [sys.executable, str(HOUSE), "--root", str(root), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def counted(root: Path) -> dict[str, Any]:
    counted: dict[str, Any] = json.loads(run(root, "--json"))
    return counted


def test_lines_are_counted_by_what_is_shipped(counted: dict[str, Any]) -> None:
    assert (counted["shipped_lines"], counted["shipped_research_lines"], counted["research_lines"]) == (65, 0, 2)
    assert counted["loose_engine_modules"] == ["winnow_engine/assistant.py"]
    assert counted["function_median_and_p90"] == {"engine": [8.0, 9], "research": [2, 2]}


def test_imports_for_type_checking_close_a_cycle(counted: dict[str, Any]) -> None:
    assert counted["import_cycles"] == [["winnow_engine.assistant", "winnow_engine.index.files"]]


def test_what_stands_twice_is_found(counted: dict[str, Any]) -> None:
    found = ["winnow_engine/assistant.py", "winnow_engine/index/words.py"]
    assert counted["classes_defined_twice"] == {"Found": found}
    assert counted["duplicated_passages"] == ["winnow_engine/index/words.py:6 repeats winnow_engine/index/units.py"]


def test_pages_are_measured(counted: dict[str, Any]) -> None:
    assert counted["long_pages"] == {"docs/long.md": 1230}
    assert counted["long_doc_lines"] == 2


def test_the_rooms_of_a_question_are_walked(counted: dict[str, Any]) -> None:
    steps = ["assistant.py", "files.py", "units.py", "assistant.py"]
    assert [Path(file).name for file in counted["question_steps"]] == steps
    assert counted["rooms_returned_to"] == ["assistant.py"]
    assert [Path(file).name for file in counted["question_files_with_calls"]] == [*steps[:3], "store.py", *steps[3:]]
    assert counted["returned_to_with_calls"] == ["assistant.py"]


def test_the_table_has_a_line_for_every_count(root: Path, counted: dict[str, Any]) -> None:
    lines = run(root).splitlines()
    assert len([line for line in lines if not line.startswith(" ")]) == len(counted) + 1
    assert lines[-1] == "0% of the shipped lines are research"
