"""`winnow doctor` and `winnow index` as processes."""

import json
import os
from pathlib import Path

import pytest

from .user import winnow

pytestmark = pytest.mark.real_weights


def test_doctor_tries_the_build_and_finds_nothing_missing(
    smollm2: Path, qwen_small: Path, qwen_target: Path, tmp_path: Path
) -> None:
    done = winnow("doctor", WINNOW_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert all(line.startswith("ok") for line in done.stdout.splitlines())
    assert all(subject in done.stdout for subject in ("processor", "BLAS", "GPU", "llama-cpp-python", "cache"))


def test_doctor_says_how_to_get_what_is_missing(tmp_path: Path) -> None:
    done = winnow("doctor", WINNOW_MODELS_DIR=str(tmp_path), WINNOW_CACHE_DIR=str(tmp_path))
    assert done.returncode == 1
    assert "→ winnow models pull qwen2.5-coder-0.5b" in done.stdout


def test_index_counts_files_once_and_explains(smollm2: Path, tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.py").write_text("def alpha():\n    return 1\n")
    (workspace / ".env").write_text("TOKEN=1\n")
    arguments = ("index", "-w", str(workspace), "--drafter", "smollm2-135m")
    for _ in range(2):
        done = winnow(*arguments, WINNOW_CACHE_DIR=str(tmp_path / "cache"))
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("1 file, 1 unit,")
    assert "secret: matches" in winnow(*arguments, "--explain", ".env").stdout
    assert "a.py: counts" in winnow(*arguments, "--explain", "a.py").stdout
    assert "a.py: counts" in winnow(*arguments, "--explain", os.path.relpath(workspace / "a.py")).stdout
    said = json.loads(winnow(*arguments, "--explain", "a.py", "--json").stdout)
    assert said == {"path": "a.py", "counts": True, "reason": "no rule leaves it out"}
