"""Commits as a data set: what they changed as it was before, with what stood around it, and who is left out."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType

import git_repositories as git
import numpy as np
import pytest
from click.testing import CliRunner

from winnow_engine.errors import TrainingError
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.cli.train import train
from winnow_research.training import histories
from winnow_research.training.dataset import Dataset
from winnow_research.training.examples import commits
from winnow_research.training.heldout import SeenLines, seen_in
from winnow_research.training.histories import HistoryRecipe

FUNCTIONS = [f"def rate_{n}(amount):\n    return amount * {n} + what_the_bank_takes_of_everybody\n" for n in range(9)]
FILE, TEST = "bank/rates.py", "tests/test_rates.py"


def source(changed: Mapping[int, str] = MappingProxyType({})) -> bytes:
    """The file with some functions written otherwise."""
    return "\n\n".join(changed.get(n, text) for n, text in enumerate(FUNCTIONS)).encode()


@pytest.fixture
def clones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A history of five commits, of which two say what they changed and why."""
    top = git.new(tmp_path / "clones" / "ada" / "bank")
    git.commit(top, "Compute all rates of the bank", {FILE: source(), TEST: b"def test_it():\n    assert True\n"})
    new = {4: "def rate_4(amount):\n    return max(amount, 0) * 4 + 16\n"}
    git.commit(top, "Charge nothing for negative amounts (#12)\n\nThey were paid out.", {FILE: source(new)})
    git.commit(top, "Test the rates of the bank", {TEST: b"def test_it():\n    assert 1 + 1 == 2\n"})
    git.commit(top, "Bump the version of it", {FILE: source(new) + b"\n\nVERSION = 2\n"})
    new |= {1: "def rate_1(sum):\n    return sum + 1\n", 8: "def rate_8(sum):\n    return 64\n"}
    last = git.commit(top, "Round the first and the last rate down", {FILE: source(new) + b"\n\nVERSION = 2\n"})
    monkeypatch.setattr(histories, "pins", lambda: {"bank": commits.Pin("bank", "ada/bank", last, "python")})
    monkeypatch.setattr(histories, "ProcessPoolExecutor", lambda workers, mp_context: ThreadPoolExecutor(workers))
    held(monkeypatch, SeenLines())
    return tmp_path / "clones"


def held(monkeypatch: pytest.MonkeyPatch, lines: SeenLines) -> None:
    monkeypatch.setattr(histories, "held_out", lambda directory: lines)
    histories._tools.cache_clear()


def made(clones: Path, drafter: Path, kept: Path, **changes: int) -> Dataset:
    return histories.histories(clones, drafter, HistoryRecipe(**changes), kept, lambda _: None)


def test_each_commit_is_asked_about_what_it_changed_as_that_was(clones: Path, drafter: Path, tmp_path: Path) -> None:
    data = made(clones, drafter, tmp_path / "kept", around=1)
    text = Vocabulary(LlamaModel(drafter, vocabulary_only=True)).text
    found = {}
    for number in range(len(data.questions)):
        golds = data.golds[number].tolist()
        file = int(np.searchsorted(data.file_units, golds[0], "right")) - 1
        around = set(range(*data.file_units[file : file + 2])) - set(golds)
        shown = [[text(data.units[unit].tolist()).strip() for unit in sorted(units)] for units in (set(golds), around)]
        asked = text(data.questions[number].tolist())
        (key,) = [key for key in ("Charge", "Round") if key in asked]
        found[key] = (*shown, "They were paid out" in asked, "#12" in asked, text(data.headers[file].tolist()))
    first, last = found["Charge"], found["Round"]
    assert first[0] == [FUNCTIONS[4].strip()]
    assert first[1] in ([FUNCTIONS[3].strip()], [FUNCTIONS[5].strip()])
    assert first[2:4] == (True, False)
    assert FILE in first[4]
    assert last[0] == [FUNCTIONS[1].strip(), FUNCTIONS[8].strip()]
    assert len(last[1]) == 2
    assert data.kinds == ("commit",)
    assert data.projects == ("history of bank",)


def test_a_unit_at_two_times_is_one_that_is_not_told_apart(clones: Path, drafter: Path, tmp_path: Path) -> None:
    data = made(clones, drafter, tmp_path / "kept", around=20)
    texts = [data.units[unit].tolist() for unit in range(len(data.units))]
    assert len(texts) > len(set(data.twins.tolist())) == len(FUNCTIONS) + 1  # the line of the version


def test_no_more_commits_are_taken_than_wanted_and_none_with_files_of_the_evaluation(
    clones: Path, drafter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(made(clones, drafter, tmp_path / "one", most=1).questions) == 1
    held(monkeypatch, seen_in([source()]))
    with pytest.raises(TrainingError, match="none of these histories has a commit"):
        made(clones, drafter, tmp_path / "none")


def test_a_commit_with_a_file_that_is_too_large_is_left_out(
    clones: Path, drafter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histories, "LARGEST_FILE", len(source({4: ""})))
    with pytest.raises(TrainingError, match="none of these histories has a commit"):
        made(clones, drafter, tmp_path / "none")


def test_what_a_project_gave_is_not_made_again(
    clones: Path, drafter: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = made(clones, drafter, tmp_path / "kept")
    monkeypatch.setattr(histories, "small_commit", None)
    after = made(clones, drafter, tmp_path / "kept")
    assert after.golds.values.tolist() == before.golds.values.tolist()


def test_the_command_says_which_clones_lack_and_writes_what_can_be_joined(
    clones: Path, drafter: Path, tmp_path: Path
) -> None:
    out, other = tmp_path / "histories.npz", tmp_path / "elsewhere"
    other.mkdir()
    options = ["histories", str(out), "--drafter", str(drafter), "--workers", "1"]
    refused = CliRunner().invoke(train, [*options, "--clones", str(other)])
    assert "git clone --bare https://github.com/ada/bank" in str(refused.exception)
    assert not out.exists()
    done = CliRunner().invoke(train, [*options, "--clones", str(clones)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "1 histories" in done.output
    joined = CliRunner().invoke(train, ["join", str(tmp_path / "all.npz"), str(out), str(out)], catch_exceptions=False)
    assert "0 questions more, 2 in all" in joined.output
