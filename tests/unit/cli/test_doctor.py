import sys
from pathlib import Path

import numpy as np
import pytest

from winnow_cuda.device import Availability
from winnow_engine.config import ModelConfig
from winnow_engine.llama.patched_functions import rebuild_command
from winnow_engine.models.cache import FileState
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.platform import pip_command
from winnow_engine.targets.local.selfcheck import BuildCheck
from winnow_engine.targets.snapshots.files import Snapshot, Snapshots, default_folder
from winnow_lsp.cli import doctor as module
from winnow_lsp.cli.doctor import _build, _disk, _gpu, _weights


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


@pytest.mark.parametrize(
    ("owner", "install", "rebuild"),
    [
        ("pyvenv.cfg", "pip install x", "pip uninstall --yes llama-cpp-python && .ci/install"),
        ("uv-receipt.toml", "uv pip install --python {} x", "uv pip uninstall --python {} --yes llama-cpp-python && "),
        ("pipx_metadata.json", "pipx runpip app install x", "pipx runpip app uninstall --yes llama-cpp-python && "),
    ],
)
def test_commands_are_those_of_what_installed_winnow(
    owner: str, install: str, rebuild: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefix = tmp_path / "app"
    prefix.mkdir()
    (prefix / owner).touch()
    monkeypatch.setattr(sys, "prefix", str(prefix))
    assert pip_command("install", "x") == install.format(prefix)
    assert rebuild.format(prefix) in rebuild_command()


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
