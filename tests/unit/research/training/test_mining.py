"""Questions made of commits are added to a data set: about its own units, and a second time from what was kept."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import git_repositories as git
import pytest

from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_research.errors import TrainingError
from winnow_research.evaluation.archives import Archive
from winnow_research.training import mining
from winnow_research.training.collector import Collector, joined
from winnow_research.training.dataset import Dataset
from winnow_research.training.examples import commits, names
from winnow_research.training.examples.base import ProjectTree
from winnow_research.training.projects import Project


@pytest.fixture
def data(drafter: Path, tree: ProjectTree) -> Dataset:
    collector = Collector(Vocabulary(LlamaModel(drafter, vocabulary_only=True)))
    part = collector.part("ledger", tree.haystack.files, names.examples(tree), lambda path: path.partition("/")[2])
    return joined([replace(part, project="other"), part], collector.prefix)


@pytest.fixture
def clones(tree: ProjectTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone whose last commit changed a function of the project, and the one before a file that it lacks."""
    top = git.new(tmp_path / "clones" / "ada" / "ledger")
    (own,) = [file for file in tree.haystack.own_files if file.path.endswith("store.py")]
    path = own.path.partition("/")[2]
    before = {path: own.data.replace(b"10000", b"9000"), "elsewhere.py": b"def elsewhere():\n    return 1\n"}
    git.commit(top, "Keep accounts on disk", before)
    git.commit(top, "Count two things in elsewhere", {"elsewhere.py": b"def elsewhere():\n    return 2\n"})
    last = git.commit(top, "Count the days of a year right", {path: own.data})
    pin = commits.Pin(tree.project, "ada/ledger", last, "python")
    monkeypatch.setattr(commits, "pins", lambda: {tree.project: pin})
    monkeypatch.setattr(mining, "ProcessPoolExecutor", lambda workers, mp_context: ThreadPoolExecutor(workers))
    return tmp_path / "clones"


def test_a_commit_is_asked_about_units_of_the_data_set(
    data: Dataset, drafter: Path, clones: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    projects = [Project("ledger", "python", "MIT", Archive("pypi", "ledger", "1.0", "0" * 64))]
    vocabulary = Vocabulary(LlamaModel(drafter, vocabulary_only=True))

    def mined() -> Dataset:
        return mining.with_commits(data, projects, drafter, clones, tmp_path / "kept", lambda _: None)

    more = mined()
    assert len(more.questions) == len(data.questions) + 1
    assert more.kinds[more.kind_of[-1]] == "commit"
    assert "Count the days of a year right" in vocabulary.text(more.questions[len(data.questions)].tolist())
    (gold,) = more.golds[len(data.questions)].tolist()
    assert gold >= len(data.units) // 2  # of the second project, whose name it is
    assert vocabulary.text(data.units[gold].tolist()).startswith("def opened_when(")
    monkeypatch.setattr(commits, "examples", None)
    assert mined().golds.values.tolist() == more.golds.values.tolist()
    with pytest.raises(TrainingError, match="already"):
        mining.with_commits(more, projects, drafter, clones, tmp_path / "kept", lambda _: None)
