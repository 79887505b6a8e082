"""The evaluation as a whole, with methods that need no model."""

from winnow_engine.errors import BudgetError
from winnow_engine.question import Question
from winnow_engine.selection.budget import KeptUnit
from winnow_engine.storage.store import Store
from winnow_research.errors import EvaluationError
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.methods.base import Ranker, Ranking, Subject
from winnow_research.evaluation.methods.lexical import Bm25
from winnow_research.evaluation.parallel import WorkItem, results_of
from winnow_research.evaluation.run import Evaluation
from winnow_research.evaluation.tasks import all_tasks


class Unable:
    """A method whose model cannot be had."""

    name = "unable"
    most_tokens: int | None = None

    def ranker(self, subject: Subject) -> Ranker:
        raise EvaluationError("no model")


class Broken(Bm25):
    """A method with a fault."""

    name = "broken"

    def ranker(self, subject: Subject) -> Ranker:
        raise ZeroDivisionError(subject.workspace.files[0].path)


class Modest(Bm25):
    """A method for small workspaces only."""

    name = "modest"
    most_tokens: int | None = 10


class Selected(Bm25):
    """A method for which the code at the cursor has 900 tokens."""

    name = "selected"

    def ranker(self, subject: Subject) -> Ranker:
        ranker = super().ranker(subject)

        def ranked(question: Question) -> Ranking:
            ranking = ranker(question)

            def keep(budget: int) -> list[KeptUnit]:
                if budget < 900:
                    raise BudgetError("the selection does not fit")
                return ranking.keep(budget)

            return Ranking(ranking.scores, keep)

        return ranked


def test_every_case_has_an_outcome_with_every_method(corpus: Corpus, store: Store) -> None:
    reports: list[str] = []
    evaluation = Evaluation(corpus, [Bm25(), Selected()], store, reports.append)
    tasks = all_tasks()
    outcomes = list(evaluation.run([tasks["describe"], tasks["cursor"]], [1000]))
    assert {(one.method, one.task) for one in outcomes} == {
        (method, task) for method in ("BM25", "selected") for task in ("describe", "cursor")
    }
    described = [one for one in outcomes if one.task == "describe" and one.method == "BM25"]
    assert all(one.kept[-1] and one.all_files[-1] and one.any_file[-1] for one in described)
    assert all(one.kept[budget] <= one.kept[budget + 1] for one in outcomes for budget in range(4))
    (at_cursor,) = (one for one in outcomes if one.task == "cursor" and one.method == "BM25")
    assert at_cursor.reciprocal_rank == 0.5
    assert "describe 1,000 ledger BM25" in reports


def test_a_method_that_cannot_run_is_absent_with_its_reason(corpus: Corpus, store: Store) -> None:
    evaluation = Evaluation(corpus, [Unable(), Modest(), Bm25()], store, lambda _: None)
    outcomes = list(evaluation.run([all_tasks()["describe"]], [1000]))
    assert {one.method for one in outcomes} == {"BM25"}
    assert evaluation.absent == {"unable": "no model", "modest": "not run on workspaces of more than 10 tokens"}


def test_a_task_that_fails_says_so_and_costs_no_other_its_outcomes(corpus: Corpus, store: Store) -> None:
    evaluation, item = Evaluation(corpus, [Bm25(), Broken()], store, print), WorkItem("describe", 1000, "ledger")
    failed = results_of(evaluation, item)
    assert failed.outcomes == []
    assert "ZeroDivisionError" in failed.failed[item]
    assert results_of(Evaluation(corpus, [Bm25()], store, print), item).outcomes
