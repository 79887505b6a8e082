"""A project of a few files in three languages, and a vocabulary of bytes."""

from pathlib import Path

import pytest
from git_repositories import write
from random_models import write_model

from winnow_research.evaluation.archives import Archive
from winnow_research.evaluation.haystack import Haystack, indexed
from winnow_research.evaluation.repositories import PinnedRepository, SourceFile, Split
from winnow_research.training.examples.base import ProjectTree

STORE = '''"""Accounts on disk."""

import json


def load_accounts(path):
    """Read every account of a file of JSON lines and check its balance.

    Accounts without a balance are left out. The order of the file is kept.
    """
    with open(path) as lines:
        found = [json.loads(line) for line in lines]
    # an overdrawn account must never reach the report
    for account in found:
        if account["balance"] < 0:
            raise ValueError("the balance of an account must not be negative")
    return found


def save_accounts(path, accounts):
    """Write accounts to disk, one on each line, the oldest of them first."""
    with open(path, "w") as lines:
        for account in sorted(accounts, key=opened_when):
            lines.write(json.dumps(account))


def opened_when(account):
    year, month, day = account["opened"].split("-")
    number = int(year) * 10000
    number += int(month) * 100
    return number + int(day)
'''
REPORT = """from ledger.store import load_accounts, opened_when


def monthly_summary(path, month):
    totals = {}
    for account in load_accounts(path):
        for entry in account["entries"]:
            if entry["month"] == month:
                totals[entry["currency"]] = totals.get(entry["currency"], 0) + entry["amount"]
    return totals
"""
TEST = """from ledger.store import load_accounts


def test_a_file_without_accounts_is_fine(tmp_path):
    path = tmp_path / "accounts"
    path.write_text("")
    found = load_accounts(path)
    assert found == []
"""
README = """# Ledger

## Rounding of amounts

Amounts are rounded half to even when a statement is printed.

The function `load_accounts` reads what `save_accounts` wrote, and checks that nobody is overdrawn by accident.

See the notes on currencies that have no minor unit.
"""
GO = """package queue

// Push appends an item and wakes one waiting consumer, if there is any.
func (q *Queue) PushItem(item Item) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.items = append(q.items, item)
	q.ready.Signal()
}
"""
FILES = {
    "ledger/README.md": README,
    "ledger/ledger/store.py": STORE,
    "ledger/ledger/report.py": REPORT,
    "ledger/tests/test_store.py": TEST,
    "ledger/queue/queue.go": GO,
}


@pytest.fixture(scope="module")
def drafter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(tmp_path_factory.mktemp("models") / "tiny.gguf")


@pytest.fixture
def sources() -> list[SourceFile]:
    return [SourceFile(path, text.encode()) for path, text in sorted(FILES.items())]


@pytest.fixture
def tree(sources: list[SourceFile]) -> ProjectTree:
    archive = Archive("pypi", "ledger", "1.0", "0" * 64)
    return ProjectTree(Haystack(PinnedRepository("ledger", "python", Split.CALIBRATION, archive), indexed(sources)))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A directory of archives with this one project in it."""
    write(tmp_path / "pypi-ledger-1.0", {path.removeprefix("ledger/"): text for path, text in FILES.items()})
    return tmp_path
