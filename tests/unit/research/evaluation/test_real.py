"""The hand-written questions: their format, and what the checker finds."""

import json
from pathlib import Path

import pytest

from winnow_research.errors import EvaluationError
from winnow_research.evaluation.cases import Gold
from winnow_research.evaluation.repositories import PinnedRepository, SourceFile, Split, repositories
from winnow_research.evaluation.tasks.real import AnswerKey, WrittenQuestion, load, problems


def write(tmp_path: Path, document: object) -> Path:
    (tmp_path / "ledger.json").write_text(json.dumps(document))
    return tmp_path


KEY = AnswerKey((("load_accounts",), ("json", "lines")))


def test_questions_are_read_with_their_golds_and_key(ledger: PinnedRepository, tmp_path: Path) -> None:
    facts = [["load_accounts"], ["json", "lines"]]
    entry = {"question": "Where are accounts read?", "golds": ["ledger/store.py:6-12"], "facts": facts}
    folder = write(tmp_path, {"repository": "ledger", "version": "1.0", "questions": [entry]})
    (written,) = load(ledger, folder)
    assert written == WrittenQuestion("Where are accounts read?", (Gold("ledger/store.py", 6, 12),), KEY)
    assert load(ledger, tmp_path / "elsewhere") == ()


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"version": "0.9", "questions": []}, "about version 0.9, not 1.0"),
        ({"version": "1.0"}, "not a file of questions"),
        ({"version": "1.0", "questions": [{"question": "?", "golds": ["store.py"]}]}, "is not PATH:START-END"),
    ],
)
def test_a_wrong_file_is_refused(ledger: PinnedRepository, tmp_path: Path, document: object, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        load(ledger, write(tmp_path, document))


@pytest.mark.parametrize(
    ("gold", "problem"),
    [
        (Gold("ledger/store.py", 6, 12), None),
        (Gold("store.py", 6, 12), "there is no file store.py"),
        (Gold("ledger/store.py", 6, 99), "has 20 lines, not 99"),
        (Gold("ledger/store.py", 13, 14), "is blank"),
    ],
)
def test_golds_must_be_in_the_pinned_source(
    ledger: PinnedRepository, ledger_files: list[SourceFile], gold: Gold, problem: str | None
) -> None:
    found = problems(ledger, ledger_files, [WrittenQuestion("?", (gold,))])
    assert len(found) == (problem is not None)
    assert problem is None or problem in found[0]


def test_at_least_400_questions_about_24_repositories_in_eight_languages_are_written() -> None:
    written = {one: load(one) for split in Split for one in repositories(split)}
    about = [one for one, questions in written.items() if questions]
    judged = [one for one in about if one.split is not Split.CALIBRATION]
    assert sum(map(len, written.values())) >= 400
    assert len(about) >= 24
    assert len({one.language for one in about}) == 8
    assert sum(len(written[one]) for one in judged) >= 250


@pytest.mark.parametrize("split", Split)
def test_every_split_has_questions_about_five_languages(split: Split) -> None:
    assert len({one.language for one in repositories(split) if load(one)}) >= 5
