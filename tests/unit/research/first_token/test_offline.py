"""What travels to a machine without a network arrives in one piece, part by part."""

import importlib.util
import os
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

OFFLINE = Path(__file__).parents[3] / "bench" / "offline"


@pytest.fixture
def packing(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(OFFLINE)
    spec = importlib.util.spec_from_file_location("pack_first_token", OFFLINE / "pack_first_token.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def script(*arguments: str, offline: Path) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(OFFLINE / "first_token.sh"), *arguments]
    environment = {**os.environ, "OFFLINE": str(offline)}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_parts_are_collected_and_give_the_file_back(packing: ModuleType, tmp_path: Path) -> None:
    whole, folders, there = tmp_path / "needed.tar.gz", tmp_path / "folders", tmp_path / "there"
    whole.write_bytes(os.urandom((5 << 20) + 17))
    folders.mkdir()
    packing.split_into_folders(whole, folders, part_mb=2)
    assert [path.name for path in sorted(folders.iterdir())] == ["needed-00", "needed-01", "needed-02"]
    assert max(path.stat().st_size for path in folders.glob("*/*")) == 2 << 20
    for folder in sorted(folders.iterdir()):
        assert script("keep", str(folder), offline=there).returncode == 0
    assert b"".join(path.read_bytes() for path in sorted((there / "parts").iterdir())) == whole.read_bytes()


def test_without_a_verb_the_script_says_how_it_is_called(tmp_path: Path) -> None:
    done = script(offline=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("first_token.sh") == 4


def test_a_step_that_does_not_exist_is_named(tmp_path: Path) -> None:
    """Unpacking comes before, so nothing is here to unpack: that is said, not passed over."""
    done = script("run", str(tmp_path / "results"), "luck", offline=tmp_path / "nothing")
    assert done.returncode != 0
    assert "needed-" in done.stderr
