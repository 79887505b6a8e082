"""How questions about bugs are made from releases and commits, on generated ones."""

import tomllib
from pathlib import Path

import git_repositories as git
import pytest

from winnow_engine.git.repository import open_repository
from winnow_research.evaluation.archives import Archive
from winnow_research.evaluation.histories.small_commits import all_commits, small_commits
from winnow_research.evaluation.releases import released
from winnow_research.evaluation.repositories import Repository, Split
from winnow_research.studies import bug_questions

SHA = "0" * 64
STORE = """def load_accounts(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]
"""


def releases(*versions: str) -> list[Archive]:
    return [Archive("pypi", "ledger", version, SHA) for version in versions]


def test_a_fix_is_asked_about_once_in_a_release_that_lacks_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mended = STORE.replace("json.loads(line)", "json.loads(line.strip())")
    top = git.new(tmp_path / "clone")
    git.commit(top, "Begin", {"ledger/store.py": STORE})
    git.commit(top, "Fix accounts that end with a blank", {"ledger/store.py": mended})
    history = open_repository(top)
    archives = releases("1.2", "1.1", "1.0")
    for archive, text in zip(archives, (mended, STORE, STORE), strict=True):
        git.write(tmp_path / archive.folder, {"ledger/store.py": text})
    monkeypatch.setenv("WINNOW_REPOSITORIES_DIR", str(tmp_path))
    fixes = list(small_commits(history, all_commits(history)))
    ledger = Repository("ledger", "python", Split.TEST, archives[0])
    found = bug_questions.questions(ledger, fixes, archives, most=8)
    assert list(found) == [archives[1]]
    (asked,) = found[archives[1]]
    assert asked["question"] == "What has to change for this: Fix accounts that end with a blank"
    assert all(gold.startswith("ledger/store.py:") for gold in asked["golds"])
    assert bug_questions.questions(ledger, fixes, archives, most=0) == {}


def test_a_section_pins_every_release_it_names() -> None:
    old, new, other = releases("1.0", "1.1", "0.9")
    document = tomllib.loads(bug_questions.section("ledger", "CHANGES.md", [(old, new)], [other]))
    assert document["ledger"] == {
        "changelog": "CHANGES.md",
        "pairs": [["1.0", "1.1"]],
        "releases": ["0.9"],
        "sha256": {"1.0": SHA, "1.1": SHA, "0.9": SHA},
    }


def test_releases_are_spread_over_all_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bug_questions, "_unpacked", lambda archive: None if archive.version == "4" else archive)
    assert [one.version for one in bug_questions.spread(releases(*"0123456789"), 5)] == ["8", "6", "2", "0"]
    assert bug_questions.spread([], 5) == []


def test_the_releases_of_a_project_are_listed_by_version(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = {"1.10": SHA, "1.9": SHA, "2.0rc1": SHA, "1.9.1-1": SHA, "nightly": SHA}
    monkeypatch.setattr("winnow_research.evaluation.releases._LISTED", {"pypi": lambda _: listed})
    assert [one.version for one in released(releases("1.9")[0])] == ["1.9", "1.10"]
    assert [one.version for one in released(releases("1.9")[0], newest="1.9")] == ["1.9"]
