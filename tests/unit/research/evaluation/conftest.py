"""A corpus of three small repositories, laid out as unpacked archives are, so that nothing is fetched."""

from pathlib import Path

import pytest
from git_repositories import write

from winnow_research.evaluation.archives import Archive
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.repositories import PinnedRepository, ReleaseHistory, SourceFile, Split

TEXTS = {
    "ledger": {
        "ledger/store.py": '''"""Accounts on disk."""

import json


def load_accounts(path):
    """Read every account from a file of JSON lines and check its balance."""
    with open(path) as lines:
        found = [json.loads(line) for line in lines]
    for account in found:
        assert account["balance"] >= 0, account
    return found


def save_accounts(path, accounts):
    """Write the given ones to disk, one on each line, oldest first."""
    with open(path, "w") as lines:
        for account in sorted(accounts, key=lambda one: one["opened"]):
            lines.write(json.dumps(account))
            lines.write("\\n")
''',
        "ledger/report.py": '''from ledger.store import load_accounts


def monthly_summary(path, month):
    """Add up what came in and went out between two dates, per currency."""
    totals = {}
    for account in load_accounts(path):
        for entry in account["entries"]:
            if entry["month"] == month:
                totals[entry["currency"]] = totals.get(entry["currency"], 0) + entry["amount"]
    return totals


def print_summary(path, month):
    """Show the totals of one month in columns that line up."""
    for currency, amount in monthly_summary(path, month).items():
        label = currency.rjust(8)
        number = f"{amount:12.2f}"
        print(label + number)
''',
        "README.md": """# Ledger

A small book-keeping tool.

## Rounding

Amounts are rounded half to even when a statement is printed, never when it is stored.

```
ledger print --month 2024-05 --rounding half-even --columns currency,amount,balance accounts.jsonl
ledger print --month 2024-06 --rounding half-even --columns currency,amount,balance accounts.jsonl
```

See also the notes on currencies that have no minor unit at all.
""",
    },
    "queue": {
        "queue.go": """package queue

// Push appends an item and wakes one waiting consumer, if there is any.
func (q *Queue) Push(item Item) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.items = append(q.items, item)
	q.ready.Signal()
	q.pushed++
}

// drainBatch takes as many items as fit in one batch without blocking the producers.
func (q *Queue) drainBatch(limit int) []Item {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	count := min(limit, len(q.items))
	taken := q.items[:count]
	q.items = q.items[count:]
	return taken
}
""",
    },
    "meter": {
        "meter.c": """/* Converts a raw sensor count into degrees with the calibration table. */
double celsius(int count, const struct table *table)
{
    int slot = count / table->step;
    double low = table->values[slot];
    double high = table->values[slot + 1];
    return low + (high - low) * (count % table->step) / table->step;
}
""",
    },
}
LANGUAGES = {"ledger": "python", "queue": "go", "meter": "c"}


def repository(name: str, split: Split = Split.TEST) -> PinnedRepository:
    return PinnedRepository(name, LANGUAGES[name], split, Archive("pypi", name, "1.0", "0" * 64))


def lay_out(directory: Path, archive: Archive, texts: dict[str, str]) -> None:
    write(directory / archive.folder, texts)


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    for name, texts in TEXTS.items():
        lay_out(tmp_path, repository(name).archive, texts)
    return Corpus(tuple(map(repository, TEXTS)), lambda text: len(text.split()), directory=tmp_path)


@pytest.fixture
def corpus_with_releases(tmp_path: Path, corpus: Corpus) -> Corpus:
    """The ledger's history: one fix of one function, then a release whose log says too much."""
    before = {"CHANGES.md": "", **TEXTS["ledger"]}
    fixed = before["ledger/report.py"].replace("rjust(8)", "rjust(12)")
    versions = {
        "1.0": before,
        "1.1": before
        | {"ledger/report.py": fixed, "CHANGES.md": "## 1.1\n\n- Long currency names no longer overflow.\n"},
        "1.2": before | {"ledger/report.py": fixed, "CHANGES.md": "## 1.2\n\n" + "- Something was changed here.\n" * 9},
    }
    archives = {version: Archive("pypi", "ledger", version, "0" * 64) for version in versions}
    for version, texts in versions.items():
        lay_out(tmp_path, archives[version], texts)
    pairs = ((archives["1.0"], archives["1.1"]), (archives["1.1"], archives["1.2"]))
    ledger = PinnedRepository(
        "ledger", "python", Split.TEST, archives["1.0"], history=ReleaseHistory("CHANGES.md", pairs)
    )
    return Corpus((ledger,), corpus.count, directory=tmp_path)


@pytest.fixture
def ledger() -> PinnedRepository:
    return repository("ledger")


@pytest.fixture
def ledger_files() -> list[SourceFile]:
    return [SourceFile(f"ledger/{path}", text.encode()) for path, text in TEXTS["ledger"].items()]
