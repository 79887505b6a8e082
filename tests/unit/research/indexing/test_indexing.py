"""What `winnow bench index` is made of: folders of a wanted size, repeated keys, and its options."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.errors import EvaluationError
from winnow_engine.index.files import SourceFile
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Workspace
from winnow_engine.keys.workspace_keys import TOKENS_PER_BYTE, KeyPart, WorkspaceKeys
from winnow_lsp.cli.main import main
from winnow_research.evaluation.repositories import Repository
from winnow_research.indexing import material
from winnow_research.indexing.simulated import repeated_files, repeated_keys


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every repository has one file of 100 bytes."""

    def files(self: Repository) -> Iterator[SourceFile]:
        return iter([SourceFile(f"{self.name}/a.py", b"x" * 100)])

    monkeypatch.setattr(Repository, "files", files)


@pytest.mark.usefixtures("small_files")
def test_a_folder_has_about_the_wanted_tokens(tmp_path: Path) -> None:
    found = material.written(round(5 * 100 * TOKENS_PER_BYTE), tmp_path)
    written = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    assert len(written) == 5
    assert found.edited in written
    assert found.questions


@pytest.mark.usefixtures("small_files")
def test_repositories_are_copied_once_all_are_used(tmp_path: Path) -> None:
    material.written(round(50 * 100 * TOKENS_PER_BYTE), tmp_path)
    paths = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.py")]
    assert len(paths) == 50
    assert "click/a.py" in paths
    assert "copy1/tornado/a.py" in paths


def test_a_folder_of_ones_own_keeps_its_files(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="has no file to index"):
        material.existing(tmp_path)
    for name, size in (("a.py", 1), ("b.py", 5), ("c.py", 9)):
        (tmp_path / name).write_bytes(b"x" * size)
    assert material.existing(tmp_path).edited == tmp_path / "b.py"


def test_the_long_file_is_the_one_with_about_500_lines(tmp_path: Path) -> None:
    for name, lines in (("a.py", 20), ("b.py", 420), ("c.py", 900), ("d.py", 5000)):
        (tmp_path / name).write_bytes(b"x\n" * lines)
    assert material.existing(tmp_path).long == tmp_path / "b.py"


def keys() -> WorkspaceKeys:
    random = np.random.default_rng(1)
    arrays = {
        "codes": random.integers(-127, 128, (6, 64), np.int8),
        "scales": random.random(6).astype(np.float16),
        "pooled": random.standard_normal((2, 256)).astype(np.float16),
    }
    return WorkspaceKeys(np.array([4, 2], np.int32), (KeyPart(np.arange(2), np.array([0, 4, 6]), arrays),), 0)


def test_repeated_keys_are_near_those_they_repeat() -> None:
    one, many = keys(), repeated_keys(keys(), 3)
    assert many.tokens == 18
    assert many.offsets.tolist() == [0, 4, 6, 10, 12, 16, 18]
    assert many.unit_tokens.tolist() == [4, 2] * 3
    for name, rows in one.arrays.items():
        first, second, _ = np.split(many.arrays[name], 3)
        assert (first == rows).all()
        assert second.dtype == rows.dtype
    moved = many.arrays["codes"][6:12].astype(int) - one.arrays["codes"]
    assert 0 < np.abs(moved).max() <= 1
    before, after = one.arrays["pooled"].astype(float), many.arrays["pooled"][2:4].astype(float)
    assert not np.allclose(before, after, atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(after, axis=1), np.linalg.norm(before, axis=1), rtol=1e-2)


def test_repeated_files_have_folders_of_their_own_and_the_same_units() -> None:
    small = Workspace((IndexedFile.of("a.py", "a.py", b"def f():\n    return 1\n\n\ndef g():\n    return f()\n"),))
    large = repeated_files(small, 3)
    assert [file.path for file in large.files] == ["0000/a.py", "0001/a.py", "0002/a.py"]
    assert len(large.units) == 3 * len(small.units)
    assert [unit.name for _, unit in large.units] == [unit.name for _, unit in small.units] * 3


def test_wrong_options_are_usage_errors(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--sizes", "many"], ["--simulate", "many"]):
        assert main(["bench", "index", *arguments]) == 2
        assert "'many' is not a list of sizes" in " ".join(capsys.readouterr().err.split())
    assert main(["bench", "index", "--tree", "/no/such/folder"]) == 2
