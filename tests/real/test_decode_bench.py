"""`winnow bench decode` on real weights: its figures agree with each other, and nothing is lost unseen."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real_weights

MODEL = ("--target", "smollm2-135m", "--prompts", "1", "--code", "60", "--max-tokens", "8")
FEW = ("--load", "quotes", "--load", "humaneval", "--draft", "auto", "--draft", "lookup")


def bench(*arguments: str) -> str:
    command = [sys.executable, "-m", "winnow_lsp", "bench", "decode", *MODEL, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_loads_are_decoded_with_every_draft(smollm2: Path, tmp_path: Path) -> None:
    document = json.loads(bench(*FEW, "--json", "--out", str(tmp_path / "all.json")))
    written = json.loads((tmp_path / "all.json").read_text())
    assert written | {"machine": document["machine"]} == document
    figures = {(one["load"], one["draft"]): one for one in document["figures"]}
    assert set(figures) == {(load, draft) for load in ("quotes", "humaneval") for draft in ("off", "auto", "lookup")}
    for (_, draft), one in figures.items():
        assert 1 <= one["tokens_per_round"] <= 17
        assert one["accepted"] <= one["drafted"]
        if draft == "off":
            assert (one["ratio"], one["drafted"], one["different"]) == (1, 0, 0)
    assert all(one["gap"] is None or one["gap"] < 1 for one in document["answers"])  # Q4_1: 0.8 were seen


def test_a_file_that_cannot_be_written_is_named_before_anything_is_measured(tmp_path: Path) -> None:
    out = tmp_path / "none" / "all.json"
    command = [sys.executable, "-m", "winnow_lsp", "bench", "decode", "--target", "no such model", "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert done.stderr.strip().endswith(f"cannot write {out}: No such file or directory")
