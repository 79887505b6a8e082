"""Scores of explanations, and the workspaces that they are asked about."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from winnow_engine.core import Citation
from winnow_engine.targets.answer import Answer
from winnow_research.evaluation.answers.explaining import ExplainedQuestion, refuses, says
from winnow_research.evaluation.answers.explanations import sheets
from winnow_research.evaluation.cases import Gold
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.repositories import SourceFile
from winnow_research.evaluation.tasks.real import AnswerKey

STORE, REPORT = "ledger/ledger/store.py", "ledger/ledger/report.py"


def answer(text: str, **other: Any) -> Answer:
    usual = {"citations": (), "sentences": (), "spans": ("one",), "notices": (), "finish": "eos"}
    return SimpleNamespace(text=text, **(usual | other))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("text", "form", "said"),
    [
        ("The default is\n`4`.", "default is 4", True),
        ("It is **4** threads", "is 4 threads", True),
        ("`onUnhandledError` runs", "unhandled", True),
        ("MESSAGE_TYPE_ARRAYBUFFER", "arraybuffer", True),
        ("the HTTPServer", "server", True),
        ("a mutex that is unlocked", "locked", False),
        ("it is UNLOCKED", "locked", False),
        ("dropped", "drop", True),
        ("immediately", "imm", False),
        ("the `imm_` table", "imm", True),
        ("after 1600 ms", "60", False),
        ("after 60 ms.", "60", True),
        ("102030", "10203", False),
        ("0.60", "60", False),
        ("10,000", "10", False),
        ("it uses `TracesSampler`", "tracessampler`", True),
        ("it uses TracesSampler", "tracessampler ", True),
        ("the TracesSamplerRate", "tracessampler ", False),
        ("a = b && c", "&&", True),
    ],
)
def test_a_form_is_said_from_the_start_of_a_word_or_number_on(text: str, form: str, said: bool) -> None:
    assert says(text, [form]) is said


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("Nothing in the workspace seems to answer this.", True),
        ("The code snippet provided does not directly address how changes are saved.", True),
        ("The provided code does not contain it.", True),
        ("This is not mentioned in the shown code.", True),
        ("Not in the code shown.", True),
        ("I don't know.", True),
        ("If no timeout is given, `load` waits.", False),
        ("If the path does not exist, it is not included.", False),
        ("The function returns null when nothing is shown.", False),
    ],
)
def test_a_refusal_says_that_the_code_does_not_answer(text: str, refusal: bool) -> None:
    assert refuses(answer(text)) is refusal
    assert refuses(answer(text, spans=()))


def test_an_answer_is_scored_by_its_key_and_citations() -> None:
    key = AnswerKey((("load_accounts",), ("balance",)), ("sorted",))
    golds = (Gold(STORE, 6, 12), Gold(REPORT, 4, 11))
    asked = ExplainedQuestion("Where are accounts read?", key, golds)
    found = asked.scores(answer("`load_accounts` returns them sorted.", citations=(Citation(STORE, 1, 6),)))
    assert found == {
        "facts": 0.5,
        "wrong": 1.0,
        "golds cited": 0.5,
        "cites": 1.0,
        "placed": 0.0,
        "marked": 0.0,
        "invented": 0.0,
        "repeats": 0.0,
        "loops": 0.0,
        "refused": 0.0,
    }
    without = ExplainedQuestion("Where?", None, ()).scores(answer("`load`"))
    assert found.keys() - without.keys() == {"facts", "wrong", "golds cited", "cites"}


def test_half_of_the_questions_are_asked_again_without_the_units_that_answer(corpus: Corpus, tmp_path: Path) -> None:
    written = [
        {"question": "Where are accounts read?", "golds": ["ledger/store.py:8-9"], "facts": [["load"], ["json"]]},
        {"question": "Where are totals made?", "golds": ["ledger/report.py:5-6"], "facts": [["monthly"], ["amount"]]},
        {"question": "Who rounds?", "golds": ["README.md:5-8"]},
    ]
    document = {"repository": "ledger", "version": "1.0", "questions": written}
    (tmp_path / "ledger.json").write_text(json.dumps(document))
    whole, without = sheets(corpus, tmp_path)
    assert [(item.test, item.question.text) for item in whole.items] == [
        ("explain", "Where are accounts read?"),
        ("explain", "Where are totals made?"),
    ]
    (item,) = without.items
    gone = "load_accounts" if "accounts" in item.question.text else "monthly_summary"
    assert item.test == "unanswerable"
    assert f"def {gone}" in _text(whole.files)
    assert f"def {gone}" not in _text(without.files)
    assert "def save_accounts" in _text(without.files)
    assert "key" not in item.scores(answer("`load`"))
    assert [one.question.text for one in list(sheets(corpus, tmp_path))[1].items] == [item.question.text]


def _text(files: tuple[SourceFile, ...]) -> str:
    return b"".join(file.data for file in files).decode()
