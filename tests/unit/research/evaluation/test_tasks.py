"""Every task on a small corpus: what is asked, what is gold, and that the answer is not given away."""

import re
from itertools import islice
from pathlib import Path

import pytest

from winnow_research.evaluation.cases import Gold, Scene
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.tasks import all_tasks

ROOT = Path(__file__).parents[4]
TOKENS = 1000


def scenes(task: str, corpus: Corpus) -> dict[str, Scene]:
    return {scene.name: scene for scene in all_tasks()[task].scenes(corpus, TOKENS)}


def text(scene: Scene, gold: Gold) -> str:
    (data,) = (file.data for file in scene.files if file.path == gold.path)
    return "\n".join(islice(data.decode().splitlines(), gold.start_line - 1, gold.end_line))


def golds_by_question(scene: Scene) -> dict[str, list[str]]:
    return {case.question.text: [text(scene, gold) for gold in case.golds] for case in scene.cases}


def test_the_tasks_are_those_of_the_documentation() -> None:
    section = (ROOT / "docs" / "relevance.md").read_text("utf-8").partition("### Tasks")[2].partition("###")[0]
    header, *documented = re.findall(r"^\| (\w+) \|", section, re.MULTILINE)
    assert header == "task"
    assert sorted(documented) == list(all_tasks())


@pytest.mark.parametrize(
    ("repository", "question", "start"),
    [
        ("ledger", "Add up what came in and went out between two dates, per currency.", "def monthly_summary"),
        (
            "queue",
            "takes as many items as fit in one batch without blocking the producers.",
            "func (q *Queue) drainBatch",
        ),
        ("meter", "Converts a raw sensor count into degrees with the calibration table.", "double celsius"),
    ],
)
def test_a_description_leads_to_its_function_without_documentation(
    corpus: Corpus, repository: str, question: str, start: str
) -> None:
    scene = scenes("describe", corpus)[repository]
    (gold,) = golds_by_question(scene)[question]
    assert gold.startswith(start)
    assert question not in "".join(file.data.decode() for file in scene.files)


def test_a_name_leads_to_its_definition(corpus: Corpus) -> None:
    questions = golds_by_question(scenes("symbol", corpus)["ledger"])
    (golds,) = (golds for text, golds in questions.items() if text.strip("`") == "load_accounts")
    assert [gold.splitlines()[0] for gold in golds] == ["def load_accounts(path):"]


def test_multi_asks_for_several_functions_at_once(corpus: Corpus) -> None:
    cases = scenes("multi", corpus)["ledger"].cases
    assert all(3 <= len(set(case.golds)) <= 5 for case in cases)
    assert all(case.question.text.count("(1)") == case.question.text.count("(3)") == 1 for case in cases)
    assert len({frozenset(case.golds) for case in cases}) == len(cases) > 0


def test_the_cursor_leads_to_definitions_in_other_files(corpus: Corpus) -> None:
    scene = scenes("cursor", corpus)["ledger"]
    (case,) = scene.cases
    cursor = case.question.cursor
    assert cursor is not None
    assert "def monthly_summary" in text(scene, Gold(cursor.path, cursor.start_line, cursor.end_line))
    assert [text(scene, gold).split("(")[0] for gold in case.golds] == ["def load_accounts"]


def test_usage_leads_to_the_callers(corpus: Corpus) -> None:
    asked = golds_by_question(scenes("usage", corpus)["ledger"])
    for name, user in (("load_accounts", "monthly_summary"), ("monthly_summary", "print_summary")):
        (golds,) = (golds for question, golds in asked.items() if name in question)
        assert [gold.split("(")[0] for gold in golds] == [f"def {user}"]


def test_doc_asks_for_a_sentence_that_is_gone_from_its_section(corpus: Corpus) -> None:
    scene = scenes("doc", corpus)["ledger"]
    ((question, (gold,)),) = golds_by_question(scene).items()
    assert question.endswith("Amounts are rounded half to even when a statement is printed, never when it is stored.")
    assert gold.startswith("## Rounding")
    assert "half to even" not in gold


def test_negative_mixes_in_questions_about_what_is_not_there(corpus: Corpus) -> None:
    small = Corpus(corpus.repositories, corpus.count, directory=corpus.directory)
    found = {scene.name: scene for scene in all_tasks()["negative"].scenes(small, 216)}
    unanswered = [case for case in found["ledger"].cases if not case.golds]
    answered = [case for case in found["ledger"].cases if case.golds]
    assert unanswered
    assert answered
    code = "".join(file.data.decode() for file in found["ledger"].files)
    assert all(case.question.text not in code for case in unanswered)


def test_bug_leads_from_the_change_log_to_the_code_that_was_changed(corpus_with_releases: Corpus) -> None:
    (scene,) = all_tasks()["bug"].scenes(corpus_with_releases, TOKENS)
    ((question, (gold,)),) = golds_by_question(scene).items()
    assert question == "What has to change for this: Long currency names no longer overflow."
    assert gold.startswith("def print_summary")
    assert "rjust(8)" in gold


@pytest.mark.parametrize("task", ["describe", "cursor", "usage", "multi", "doc", "negative", "feature"])
def test_equal_seeds_ask_equal_questions(corpus: Corpus, task: str) -> None:
    assert scenes(task, corpus) == scenes(task, corpus)
