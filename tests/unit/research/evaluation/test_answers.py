"""Questions about functions: equal for equal seeds, and answers judged right and wrong."""

import pytest

from winnow_engine.core import Sampling
from winnow_engine.errors import EvaluationError
from winnow_engine.question import Question
from winnow_engine.storage.store import Store
from winnow_research.evaluation.answers.items import gives_back
from winnow_research.evaluation.answers.run import AnswerRun, sheets
from winnow_research.evaluation.answers.similarity import bleu
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.methods.base import Subject

FUNCTION = """def monthly_summary(path, month):
    totals = {}
    for account in load_accounts(path):
        totals[account.currency] = totals.get(account.currency, 0) + account.amount
    return totals
"""


def test_code_is_as_alike_as_its_tokens() -> None:
    assert bleu(FUNCTION, FUNCTION.replace("    ", "\t")) == pytest.approx(1)
    assert 0.8 < bleu(FUNCTION.replace("totals", "sums", 1), FUNCTION) < 1
    assert bleu("print('something else')", FUNCTION) < 0.1
    assert bleu("", FUNCTION) == 0


def test_half_a_function_is_not_that_function() -> None:
    assert bleu(FUNCTION[: len(FUNCTION) // 2], FUNCTION) < 0.6


@pytest.mark.parametrize(
    "answer",
    [
        FUNCTION,
        f"Here it is:\n```python\n{FUNCTION}```\nIt is in report.py.",
        "```\n" + "".join(f"   {line}0 {text}\n" for line, text in enumerate(FUNCTION.splitlines(), 1)),
    ],
)
def test_a_function_given_back_is_right_whatever_stands_around_it(answer: str) -> None:
    assert gives_back(FUNCTION)(answer)


def test_another_function_is_wrong() -> None:
    assert not gives_back(FUNCTION)("```python\ndef print_summary(path):\n    print(path)\n```")


def test_sheets_are_equal_for_equal_seeds_and_hide_the_documentation(corpus: Corpus) -> None:
    def asked() -> list[tuple[str, str]]:
        return [(item.test, item.question.text) for sheet in sheets(corpus, 1000) for item in sheet.items]

    assert asked() == asked()
    ledger = next(iter(sheets(corpus, 1000)))
    functions = [item for item in ledger.items if item.test == "function"]
    code = b"".join(file.data for file in ledger.files).decode()
    assert any("check its balance" in item.question.text for item in functions)
    assert "check its balance" not in code
    (loading,) = (item for item in functions if "check its balance" in item.question.text)
    assert loading.right(code[code.index("def load_accounts") : code.index("def save_accounts")])


class Repeating:
    """A way of reading that gives back the same whatever is asked."""

    def __init__(self, name: str, answer: str) -> None:
        self.name, self.answer = name, answer

    def about(self, subject: Subject) -> "Repeating":
        return self

    def __call__(self, question: Question, sampling: Sampling) -> str:
        if not self.answer:
            raise EvaluationError("nothing to say")
        return self.answer


def test_every_question_has_a_result_of_every_method_that_can_answer(corpus: Corpus, store: Store) -> None:
    run = AnswerRun(corpus, [Repeating("A", "A"), Repeating("none", "")], store, lambda _: None)
    results = list(run.run(1000))
    assert len(results) == sum(len(sheet.items) for sheet in sheets(corpus, 1000))
    assert {result.method for result in results} == {"A"}
    assert {result.text for result in results} == {"A"}
    assert {result.workspace for result in results} == {sheet.name for sheet in sheets(corpus, 1000)}
    assert run.absent == {"none": "nothing to say"}
