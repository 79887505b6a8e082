"""What is published: answering questions takes nothing of the research, and the research nothing twice."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROFILES = ROOT / "engine" / "winnow_engine" / "encoder" / "profiles"


def packages(project: Path, to: Path) -> dict[str, set[str]]:
    """The files of a project's wheel, by package."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(to)]
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    names = zipfile.ZipFile(next(to.glob("*.whl"))).namelist()
    return {name: {n for n in names if n.startswith(f"{name}/")} for name in {n.split("/")[0] for n in names}}


def test_what_users_install_is_small_and_has_no_research(tmp_path: Path) -> None:
    found = packages(ROOT, tmp_path)
    assert next(tmp_path.glob("*.whl")).stat().st_size < 3_000_000
    assert {name for name in found if "dist-info" not in name} == {"winnow_cuda", "winnow_engine", "winnow_lsp"}
    profiles = {name.split("/encoder/profiles/")[1] for name in found["winnow_engine"] if "/encoder/profiles/" in name}
    files = (path for path in PROFILES.rglob("*") if path.is_file() and path.suffix != ".pyc")
    assert profiles == {path.relative_to(PROFILES).as_posix() for path in files}


@pytest.mark.parametrize(
    "needed", ["cli/bench/__init__.py", "evaluation/repositories.toml", "evaluation/real/click.json"]
)
def test_the_research_is_a_distribution_of_its_own(needed: str, tmp_path: Path) -> None:
    found = packages(ROOT / "engine" / "winnow_research", tmp_path)
    assert {name for name in found if "dist-info" not in name} == {"winnow_research"}
    assert f"winnow_research/{needed}" in found["winnow_research"]


def test_the_extension_is_a_preview_until_version_1() -> None:
    manifest = json.loads((ROOT / "vscode-extension" / "package.json").read_text())
    assert manifest["preview"] is manifest["version"].startswith("0.")
