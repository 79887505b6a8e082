"""The data set of written questions: golds lead to their units, and nothing like a held-out file is in it."""

from pathlib import Path

import pytest
from git_repositories import write

from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.question import Question
from winnow_research.evaluation.archives import Archive
from winnow_research.evaluation.cases import Case, Gold
from winnow_research.evaluation.repositories import PinnedRepository, Split, repositories
from winnow_research.training.examples.base import ProjectTree
from winnow_research.training.examples.written import cases
from winnow_research.training.prepare import DataRecipe, prepare

from .conftest import REPORT, STORE

SAVE, SUMMARY = Gold("ledger/ledger/store.py", 22, 25), Gold("ledger/ledger/report.py", 5, 9)
WRITTEN = [Case("written", "ledger", "python", Question("Who?"), golds) for golds in ((SAVE,), (SAVE, SUMMARY))]


@pytest.mark.parametrize(("held", "asked"), [("pass", [["save"], ["save", "monthly"]]), (REPORT, [["save"]])])
def test_golds_lead_to_units_of_their_lines_unless_their_file_is_held_out(
    tree: ProjectTree, cache: Path, drafter: Path, held: str, asked: list[list[str]]
) -> None:
    other = PinnedRepository("held", "python", Split.TEST, Archive("pypi", "held", "1.0", "0" * 64))
    write(cache / "pypi-held-1.0", {"a.py": held})
    recipe, ours = DataRecipe(len(STORE) + len(REPORT)), [tree.haystack.repository]
    data = prepare(ours, [other], drafter, recipe, lambda _: None, directory=cache, written=lambda _: WRITTEN)
    text = Vocabulary(LlamaModel(drafter, vocabulary_only=True)).text
    of_kind = [n for n, kind in enumerate(data.kind_of.tolist()) if data.kinds[kind] == "written"]
    texts = [[text(data.units[unit].tolist()) for unit in data.golds[n].tolist()] for n in of_kind]
    assert [[one.split("def ")[1].split("_")[0] for one in golds] for golds in texts] == asked
    assert any("monthly_summary" in text(data.units[n].tolist()) for n in range(len(data.units))) is (held == "pass")


def test_questions_that_nothing_answers_are_left_out() -> None:
    found = [case for one in repositories(Split.CALIBRATION) for case in cases(one)]
    assert {(case.task, bool(case.golds)) for case in found} == {("written", True), ("translated", True)}
