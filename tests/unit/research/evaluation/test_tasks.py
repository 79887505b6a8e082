"""Every task on a small corpus: what is asked, what is gold, and that the answer is not given away."""

import json
import re
import tomllib
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from winnow_engine.errors import EvaluationError
from winnow_research.evaluation.cases import Case, Gold, Scene
from winnow_research.evaluation.comments import head
from winnow_research.evaluation.corpus import Corpus
from winnow_research.evaluation.haystack import indexed
from winnow_research.evaluation.repositories import SourceFile, Split, repositories
from winnow_research.evaluation.tasks import all_tasks, bug, files
from winnow_research.evaluation.tasks.phrase import phrase_of

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


def test_a_description_that_names_its_function_is_not_asked(corpus: Corpus) -> None:
    assert not any("wakes one" in text for text in golds_by_question(scenes("describe", corpus)["meter"]))
    questions = golds_by_question(scenes("describe", corpus)["ledger"])
    assert "Show the totals of one month in columns that line up." in questions
    assert len(questions) == 4


@pytest.mark.parametrize(
    ("sentence", "phrase"),
    [
        ("Show the totals of one month in columns that line up.", "Show the totals of one month in columns"),
        ("Returns the parsed header of a request.", "parsed header of a request"),
        ("Whether it is.", ""),
    ],
)
def test_a_phrase_is_the_first_of_a_sentence(sentence: str, phrase: str) -> None:
    assert phrase_of(sentence) == phrase


def test_a_name_leads_to_its_definition(corpus: Corpus) -> None:
    questions = golds_by_question(scenes("symbol", corpus)["ledger"])
    (golds,) = (golds for text, golds in questions.items() if text.strip("`") == "load_accounts")
    assert [gold.splitlines()[0] for gold in golds] == ["def load_accounts(path):"]


def test_multi_asks_for_several_functions_at_once(corpus: Corpus) -> None:
    cases = scenes("multi", corpus)["ledger"].cases
    assert all(3 <= len(set(case.golds)) <= 5 for case in cases)
    assert all(case.question.text.count("(1)") == case.question.text.count("(3)") == 1 for case in cases)
    assert len({frozenset(case.golds) for case in cases}) == len(cases) > 0


def test_a_corpus_narrowed_to_one_repository_asks_the_same_about_it(corpus: Corpus) -> None:
    narrowed = replace(corpus, asked="queue")
    for task in ("describe", "multi", "usage"):
        everything = scenes(task, corpus)
        assert scenes(task, narrowed) == {name: scene for name, scene in everything.items() if name == "queue"}


def test_the_cursor_leads_to_definitions_in_other_files(corpus: Corpus) -> None:
    scene = scenes("cursor", corpus)["ledger"]
    (case,) = scene.cases
    cursor = case.question.cursor
    assert cursor is not None
    assert "def monthly_summary" in text(scene, Gold(cursor.path, cursor.start_line, cursor.end_line))
    assert [text(scene, gold).split("(")[0] for gold in case.golds] == ["def load_accounts"]


def test_usage_leads_to_the_callers(corpus: Corpus) -> None:
    asked = golds_by_question(scenes("usage", corpus)["ledger"])
    by_name = {
        name: golds
        for question, golds in asked.items()
        for name in ("load_accounts", "monthly_summary")
        if name in question
    }
    assert [gold.split("(")[0] for gold in by_name["load_accounts"]] == ["def monthly_summary"]
    assert [gold.split("(")[0] for gold in by_name["monthly_summary"]] == ["def print_summary"]


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


def test_bug_asks_about_commits_where_the_workspace_has_room(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [
        {"question": "What has to change for this: Read accounts.", "golds": ["ledger/store.py:6-12"]},
        {"question": "What has to change for this: Print it.", "golds": ["ledger/report.py:1-2"]},
    ]
    (tmp_path / "ledger.json").write_text(json.dumps({"releases": {"1.0": asked}}))
    monkeypatch.setattr(bug, "QUESTIONS", tmp_path)
    (scene,) = bug.of_commits(corpus, TOKENS)
    assert {"ledger", "queue"} <= {file.path.partition("/")[0] for file in scene.files}
    assert [(case.task, case.golds) for case in scene.cases] == [
        ("bug", (Gold("ledger/ledger/store.py", 6, 12),)),
        ("bug", (Gold("ledger/ledger/report.py", 1, 2),)),
    ]
    (scene,) = bug.of_commits(corpus, 3 * 71)  # report.py has 72 words, store.py one fewer
    assert [case.golds[0].path for case in scene.cases] == ["ledger/ledger/store.py"]
    asked[0]["golds"] = ["ledger/store.py:6-99"]
    (tmp_path / "ledger.json").write_text(json.dumps({"releases": {"1.0": asked}}))
    with pytest.raises(EvaluationError, match="has 20 lines, not 99: make"):
        list(bug.of_commits(corpus, TOKENS))


def test_feature_leads_from_the_documentation_of_a_file_to_the_file() -> None:
    body = "".join(f"line_{number} = {number}\n" for number in range(30))
    kept = SourceFile("ledger/kept.py", f'"""Adds up what the accounts of a year hold."""\n\n{body}'.encode())
    named = SourceFile(
        "ledger/named.go", f"// Package named has all that is named here.\npackage named\n{body}".encode()
    )
    licensed = SourceFile("ledger/free.c", f"/* Licensed under the terms of a licence. */\n{body}".encode())
    found = [head(one) for one in indexed((kept, named, licensed))]
    assert found[0] == ("Adds up what the accounts of a year hold.", frozenset({1}))
    assert found[1][1] == frozenset({1})
    assert found[2] == ("", frozenset())


def test_a_commit_of_files_changed_three_to_five_files() -> None:
    for split in (Split.CALIBRATION, Split.DEVELOPMENT):
        asked = [one for each in repositories(split) for _, some in bug.reported(each, files.QUESTIONS) for one in some]
        assert len(asked) >= 10
        assert all(3 <= len({gold.path for gold in one.golds}) <= 5 for one in asked)


def test_every_question_about_a_bug_is_of_a_pinned_history() -> None:
    pinned = tomllib.loads((bug.QUESTIONS / "clones.toml").read_text("utf-8"))
    about = {path.stem for folder in (bug.QUESTIONS, files.QUESTIONS) for path in folder.glob("*.json")}
    assert about <= pinned.keys() <= {one.name for split in Split for one in repositories(split)}


def test_bug_asks_enough_in_every_split() -> None:
    for split, least in ((Split.TEST, 300), (Split.DEVELOPMENT, 60), (Split.CALIBRATION, 60)):
        of_releases = sum(len(one.history.pairs) for one in repositories(split) if one.history)
        of_commits = sum(len(asked) for one in repositories(split) for _, asked in bug.reported(one))
        assert of_releases + of_commits >= least


@pytest.mark.parametrize("task", ["describe", "cursor", "usage", "multi", "doc", "negative", "feature"])
def test_equal_seeds_ask_equal_questions(corpus: Corpus, task: str) -> None:
    assert scenes(task, corpus) == scenes(task, corpus)


def test_no_more_questions_than_wanted(corpus: Corpus) -> None:
    few = Corpus(corpus.repositories, corpus.count, questions=2, directory=corpus.directory)
    cases: list[Case] = [case for scene in scenes("describe", few).values() for case in scene.cases]
    assert [len([one for one in cases if one.repository == name]) for name in ("ledger", "queue", "meter")] == [2, 2, 1]
