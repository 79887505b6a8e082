"""`winnow bench answers` on real weights."""

import json
from pathlib import Path

import pytest

from winnow_lsp.cli.main import main
from winnow_research.evaluation.answers import explanations
from winnow_research.evaluation.archives import Archive
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.repositories import PinnedRepository, Split

pytestmark = pytest.mark.real_weights

LEDGER = PinnedRepository("ledger", "python", Split.DEVELOPMENT, Archive("pypi", "ledger", "1.0", "0" * 64))
STORE = '''import json


def load_accounts(path):
    """Read every account from a file of JSON lines and check its balance."""
    with open(path) as lines:
        found = [json.loads(line) for line in lines]
    for account in found:
        assert account["balance"] >= 0, account
    return found


def save_accounts(path, accounts):
    """Write the accounts to disk, one on each line, oldest first."""
    with open(path, "w") as lines:
        for account in sorted(accounts, key=lambda one: one["opened"]):
            lines.write(json.dumps(account))
'''
QUESTIONS = [
    {"question": "Who reads accounts?", "golds": ["store.py:4-10"], "facts": [["load_accounts"], ["json"]]},
    {"question": "In what order are they saved?", "golds": ["store.py:13-17"], "facts": [["oldest"], ["opened"]]},
]


def test_answers_that_cannot_be_written_are_not_asked_for(
    smollm2: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "missing" / "answers.jsonl"
    assert main(["bench", "answers", "--drafter", str(smollm2), "--target", str(smollm2), "--out", str(path)]) == 1
    assert f"cannot write {path}: No such file or directory" in " ".join(capsys.readouterr().err.split())


def test_two_questions_are_answered_and_one_of_them_again_without_its_code(
    smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / LEDGER.archive.folder / "store.py"
    source.parent.mkdir()
    source.write_text(STORE)
    (tmp_path / "ledger.json").write_text(json.dumps({"version": "1.0", "questions": QUESTIONS}))
    sheets = explanations.sheets

    def small(corpus: Corpus) -> object:
        return sheets(Corpus((LEDGER,), corpus.count, corpus.questions, corpus.seed, tmp_path), tmp_path)

    monkeypatch.setattr(explanations, "sheets", small)
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    out = tmp_path / "answers.jsonl"
    options = ["--split", "development", "--drafter", str(smollm2), "--target", str(smollm2), "--budget", "300"]
    assert main(["bench", "answers", *options, "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    answers = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [(one["test"], one["workspace"]) for one in answers] == [
        ("explain", "ledger"),
        ("explain", "ledger"),
        ("unanswerable", "ledger without golds"),
    ]
    assert all(one["text"] and one["sizes"]["seconds in all"] > 0 for one in answers)
    assert [(one["test"], one["answers"]) for one in document["figures"]] == [("explain", 2), ("unanswerable", 1)]
    assert document["machine"]["cores"] > 0
    assert set(document["figures"][0]["scores"]) >= {"facts", "wrong", "golds cited", "loops", "refused"}
