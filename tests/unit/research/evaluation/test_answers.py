"""Questions about functions: equal for equal seeds, and answers judged right and wrong."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from winnow_engine.core import Budget, Cancellation
from winnow_engine.index.workspace import Sources
from winnow_engine.question import Question
from winnow_engine.selection.ranking import Selection, SelectionStats
from winnow_engine.targets.answer import Answer, Stats
from winnow_engine.targets.base import Generation
from winnow_research.evaluation.answers import functions
from winnow_research.evaluation.answers.items import gives_back
from winnow_research.evaluation.answers.run import AnswerRun, figures
from winnow_research.evaluation.answers.similarity import bleu
from winnow_research.evaluation.corpus import Corpus

FUNCTION = """def monthly_summary(path, month):
    totals = {}
    for account in load_accounts(path):
        totals[account.currency] = totals.get(account.currency, 0) + account.amount
    return totals
"""


def said(text: str) -> Answer:
    return SimpleNamespace(text=text)  # type: ignore[return-value]


def test_code_is_as_alike_as_its_tokens() -> None:
    assert bleu(FUNCTION, FUNCTION.replace("    ", "\t")) == pytest.approx(1)
    assert 0.8 < bleu(FUNCTION.replace("totals", "sums", 1), FUNCTION) < 1
    assert bleu("print('something else')", FUNCTION) < 0.1
    assert bleu("", FUNCTION) == 0


@pytest.mark.parametrize(
    "answer",
    [
        FUNCTION,
        f"Here it is:\n```python\n{FUNCTION}```\nIt is in report.py.",
        "```\n" + "".join(f"   {line}0 {text}\n" for line, text in enumerate(FUNCTION.splitlines(), 1)),
    ],
)
def test_a_function_given_back_is_right_whatever_stands_around_it(answer: str) -> None:
    assert gives_back(FUNCTION)(said(answer)) == {"right": 1.0}


def test_sheets_are_equal_for_equal_seeds_and_hide_the_documentation(corpus: Corpus) -> None:
    def asked() -> list[tuple[str, str]]:
        return [(item.test, item.question.text) for sheet in functions.sheets(corpus, 1000) for item in sheet.items]

    assert asked() == asked()
    ledger = next(iter(functions.sheets(corpus, 1000)))
    code = b"".join(file.data for file in ledger.files).decode()
    assert any("check its balance" in item.question.text for item in ledger.items)
    assert "check its balance" not in code
    (loading,) = (item for item in ledger.items if "check its balance" in item.question.text)
    function = code[code.index("def load_accounts") : code.index("def save_accounts")]
    assert loading.scores(said(function)) == {"right": 1.0}


class Repeating:
    """An assistant that says the same whatever is asked."""

    def ask(self, sources: Sources, question: Question, budget: Budget, *_: Any, **__: Any) -> Answer:
        generation = Generation(FUNCTION, "eos", 400, 0, 1.0, 1.5, 20, 2.0)
        selection = Selection(None, (), SelectionStats(1000, 300, 1000))  # type: ignore[arg-type]
        return Answer(selection, Stats(selection.stats, generation, {}, 2.0, {}, None, None), (), ())


def test_every_question_is_answered_and_scored(corpus: Corpus) -> None:
    run = AnswerRun(Repeating(), "tiny", 0, Budget(300), lambda _: None, Cancellation())  # type: ignore[arg-type]
    found = list(run.run(functions.sheets(corpus, 1000)))
    assert len(found) == sum(len(sheet.items) for sheet in functions.sheets(corpus, 1000)) > 2
    (figure,) = figures(found)
    assert (figure["test"], figure["target"], figure["answers"]) == ("function", "tiny", len(found))
    assert figure["scores"]["right"][0] == sum(one.scores["right"] for one in found) / len(found)
    assert figure["medians"] == {
        "tokens kept": 300,
        "tokens of the prompt": 400,
        "tokens of the answer": 20,
        "seconds to the first token": 2.0,
        "seconds in all": 4.0,
    }
    assert json.loads(json.dumps(found[0].as_json()))["text"] == FUNCTION
