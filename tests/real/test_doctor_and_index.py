"""`winnow doctor` and `winnow index` as processes."""

import json
import os
from pathlib import Path

import pytest

from winnow_lsp.cli.main import main

from .user import winnow

pytestmark = pytest.mark.real_weights


def test_doctor_tries_the_build_and_finds_nothing_missing(
    smollm2: Path, qwen_small: Path, qwen_target: Path, tmp_path: Path
) -> None:
    done = winnow("doctor", WINNOW_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0, done.stdout
    assert all(line.startswith("ok") for line in done.stdout.splitlines())
    assert all(subject in done.stdout for subject in ("processor", "BLAS", "GPU", "llama-cpp-python", "cache"))


def test_doctor_decodes_where_the_models_are(smollm2: Path, tmp_path: Path) -> None:
    models = {"WINNOW_DRAFTER": "smollm2-135m", "WINNOW_TARGET": "smollm2-135m"}
    (tmp_path / "winnow").mkdir()
    (tmp_path / "winnow" / "winnow.toml").write_text("speling = 1")  # of which the child warns, too
    done = winnow("doctor", "--gpu", WINNOW_CACHE_DIR=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path), **models)
    [line] = [line for line in done.stdout.splitlines() if "decoding on the GPU" in line]
    assert " tokens of smollm2-135m, " in line
    assert line.startswith("ok") == ("drafter resident" in line and "target cpu" not in line)
    assert done.returncode == (not line.startswith("ok"))


def test_doctor_says_how_to_get_what_is_missing(tmp_path: Path) -> None:
    done = winnow("doctor", WINNOW_MODELS_DIR=str(tmp_path), WINNOW_CACHE_DIR=str(tmp_path))
    assert done.returncode == 1
    assert "→ winnow models pull qwen2.5-coder-0.5b" in done.stdout


def test_index_counts_files_once_and_says_so(smollm2: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "a.py").write_text("def alpha():\n    return 1\n")
    (workspace / ".env").write_text("TOKEN=1\n")
    arguments = ("index", "-w", str(workspace), "--drafter", "smollm2-135m")
    for _ in range(2):
        done = winnow(*arguments, WINNOW_CACHE_DIR=str(tmp_path / "cache"))
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("1 file, 1 unit,")
    for path, says in ((".env", "secret: matches"), (os.path.relpath(workspace / "a.py"), "a.py: counts")):
        assert main([*arguments, "--explain", path]) == 0
        assert says in capsys.readouterr().out
    assert main([*arguments, "--explain", "a.py", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"path": "a.py", "counts": True, "reason": "no rule leaves it out"}
