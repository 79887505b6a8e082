"""`winnow bench index` on real weights: everything is encoded once, and later steps have less to do."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.real_weights

SMALL = ("--drafter", "smollm2-135m", "--sizes", "5k", "--repetitions", "1")


def test_a_folder_is_indexed_asked_about_edited_and_opened_again(smollm2: Path, tmp_path: Path) -> None:
    out = tmp_path / "index.json"
    command = [sys.executable, "-m", "winnow_lsp", "bench", "index", *SMALL, "--out", str(out), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert json.loads(out.read_text()) == document
    (found,) = document["folders"]
    assert 2000 < found["tokens"] < 40_000
    assert found["stored_bytes_a_token"] > 8
    assert found["memory"]["peak_bytes"] >= found["memory"]["before_bytes"]
    assert len(found["edited_s"]) == 1
    assert found["question"]["seconds"]
    assert found["new_process"]["first_question_s"] > 0
