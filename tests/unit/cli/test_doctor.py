import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from winnow_cuda.device import Availability
from winnow_engine.config import ModelConfig
from winnow_engine.llama.patched_functions import build_note
from winnow_engine.models.cache import FileState
from winnow_engine.models.registry import DEFAULT_DRAFTER, DEFAULT_TARGET
from winnow_engine.targets.local.selfcheck import BuildCheck
from winnow_engine.targets.snapshots.files import Snapshot, Snapshots, default_folder
from winnow_lsp.cli import doctor as module
from winnow_lsp.cli.doctor import Check, _build, _built_by, _disk, _gpu, _models, _residency, _settings, _weights


def test_a_model_that_nothing_needs_is_said_to_be_optional(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tmp_path))
    found = {finding.subject.removeprefix("model "): finding for finding in _models(ModelConfig())}
    assert (found[DEFAULT_DRAFTER].works, found[DEFAULT_DRAFTER].seen) == (False, "not installed")
    assert (found["target (auto)"].works, found["target (auto)"].remedy) == (False, "winnow models pull")
    assert found["smollm2-135m"].works
    assert found["smollm2-135m"].seen == "optional, not installed; get it: winnow models pull smollm2-135m"


def test_models_that_the_settings_name_are_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tmp_path))
    wanted = ModelConfig("smollm2-135m", "http://127.0.0.1:1/v1")
    found = {finding.subject.removeprefix("model "): finding.works for finding in _models(wanted)}
    assert (found["smollm2-135m"], found[DEFAULT_DRAFTER], found[DEFAULT_TARGET]) == (False, True, True)
    assert list(_residency(wanted)) == []
    missing = str(tmp_path / "x.gguf")
    for wanted in (ModelConfig(target=missing), ModelConfig(speculate=missing)):
        assert Check(False, "model", missing, "correct the settings") in _models(wanted)
        assert list(_residency(wanted)) == [], "that is said once"


@pytest.mark.parametrize(
    ("drafter", "gpu", "missing"),
    [
        (DEFAULT_DRAFTER, True, ["adapter", "reranker"]),
        (DEFAULT_DRAFTER, False, ["adapter"]),
        ("smollm2-135m", True, []),
    ],
)
def test_weights_are_missing_where_they_are_used(
    drafter: str, gpu: bool, missing: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "availability", lambda: Availability(gpu, "a GPU"))
    assert [check.seen for check in _weights(ModelConfig(drafter))] == ["ok"] * 3
    monkeypatch.setattr(module, "weight_folders", lambda kind: ())
    checks = list(_weights(ModelConfig(drafter)))
    remedies = [f"pip install winnow-weights-{kind}" for kind in missing]
    assert [check.remedy for check in checks if not check.works] == remedies
    assert all("get it: pip install winnow-weights-" in check.seen for check in checks if check.works)


@pytest.mark.parametrize(("has", "says"), [(True, False), (False, True)])
def test_a_build_without_our_additions_works_and_is_said_to_be_slower(
    has: bool, says: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "quick_state", lambda model, directory: FileState.OK)
    monkeypatch.setattr(module, "check_build", lambda model: BuildCheck(True, "decodes"))
    monkeypatch.setattr(module, "has_patches", lambda: has)
    (check,) = _build()
    assert (check.works, "get them: pip uninstall" in check.seen) == (True, says)


@pytest.mark.parametrize(
    ("program", "extra", "says"), [("nvidia-smi", None, True), (None, None, False), ("nvidia-smi", "cuda", False)]
)
def test_a_gpu_without_the_extra_gets_the_command(
    program: str | None, extra: str | None, says: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "availability", lambda: Availability(False, "none"))
    monkeypatch.setattr("shutil.which", lambda name: program)
    monkeypatch.setattr(module, "find_spec", lambda name: extra)
    (check,) = _gpu()
    assert (check.works, "pip install 'winnow-lsp[cuda]'" in check.seen) == (True, says)


def test_the_file_of_settings_is_named_if_there_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert list(_settings()) == []
    (tmp_path / "winnow").mkdir()
    (file := tmp_path / "winnow" / "winnow.toml").touch()
    assert list(_settings()) == [Check(True, "settings", str(file))]


def test_what_is_kept_on_disk_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path))
    _, snapshots, weights = _disk()
    assert snapshots.seen.startswith("0 prompts that a target has read, 0 MB")
    assert weights.seen.startswith("of 0 drafters, 0 MB")
    kept = Snapshots(default_folder(), 1 << 30, "model")
    kept.save(Snapshot(np.arange(9, dtype=np.int32), np.zeros(3_000_000, np.uint8), 1.0))
    (tmp_path / "weights" / "one").mkdir(parents=True)
    (tmp_path / "weights" / "one" / "0.layer").write_bytes(bytes(2_000_000))
    _, snapshots, weights = _disk()
    assert snapshots.works
    assert snapshots.seen == f"1 prompt that a target has read, 3 MB, kept in {tmp_path / 'snapshots'}"
    assert weights.works
    assert weights.seen == f"of 1 drafter, 2 MB, kept in {tmp_path / 'weights'}"


def test_what_built_llama_cpp_is_named_where_it_is_known(tmp_path: Path) -> None:
    assert _built_by(build_note(tmp_path / "none")) == ""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "winnow-build.txt").write_text("llama-cpp-python==0.3.36\nziglang==0.17.1\n")
    assert _built_by(build_note(tmp_path)) == " (ziglang==0.17.1)"


@pytest.mark.parametrize("works", [True, False])
def test_json_has_every_check(works: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_findings", lambda: iter([Check(works, "BLAS", "none", "install it")]))
    done = CliRunner().invoke(module.doctor, ["--json"])
    found = {"works": works, "subject": "BLAS", "seen": "none", "remedy": "install it"}
    assert (json.loads(done.stdout), done.exit_code) == ({"works": works, "checks": [found]}, 0 if works else 1)
