"""The examples work as they stand, as processes, with real weights."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real_weights

EXAMPLES = Path(__file__).parents[2] / "examples"
QUESTION = "Show the code of delivery."
CODE = "def delivery(heavy: bool) -> int:\n    return 1500 if heavy else 0\n"


@pytest.mark.parametrize("example", ["ask_from_python.py", "lsp_client.py"])
def test_it_prints_an_answer_and_what_it_cites(example: str, smollm2: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "shop"
    workspace.mkdir()
    (workspace / "pricing.py").write_text(CODE)
    command = [sys.executable, str(EXAMPLES / example), str(workspace), QUESTION, "smollm2-135m", "smollm2-135m"]
    environment = {**os.environ, "WINNOW_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    answer, _, cited = done.stdout.partition("\n\n")
    assert "1500" in answer
    assert "pricing.py:1" in cited


def test_every_example_is_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text("utf-8")
    assert [file.name for file in EXAMPLES.glob("*.py") if f"({file.name})" not in listed] == []
