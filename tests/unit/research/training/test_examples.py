"""Each source of examples on a small project: what is asked, what answers it, and which lines are not shown."""

import random
from pathlib import Path

import git_repositories as git
import pytest

from winnow_research.evaluation.haystack import Haystack, indexed
from winnow_research.evaluation.repositories import SourceFile
from winnow_research.training.examples import (
    comments,
    commits,
    cursor,
    describe,
    documentation,
    messages,
    multi,
    names,
    needles,
    usage,
)
from winnow_research.training.examples import examples as all_examples
from winnow_research.training.examples.base import Example, ProjectTree


def golds(example: Example) -> list[str]:
    return [place.unit.name for place in example.golds]


def test_a_docstring_is_asked_as_it_is_and_as_a_question_without_its_lines(tree: ProjectTree) -> None:
    found = [one for one in describe.examples(tree) if golds(one) == ["load_accounts"]]
    assert "Read every account of a file of JSON lines and check its balance." in [one.text for one in found]
    assert len(found) >= 3
    for one in found:
        ((place, lines),) = one.quoted
        hidden = [place.file.text_of_lines(line, line).strip() for line in sorted(lines)]
        assert hidden[0].startswith('"""Read every account')
        assert hidden[-1] == '"""'


def test_a_comment_of_go_loses_the_name_it_opens_with(tree: ProjectTree) -> None:
    texts = [one.text for one in describe.examples(tree) if golds(one) == ["Queue.PushItem"]]
    assert texts
    assert not any(text.startswith("PushItem") for text in texts)


def test_a_comment_inside_a_function_asks_for_the_function(tree: ProjectTree) -> None:
    (found,) = comments.examples(tree)
    assert golds(found) == ["load_accounts"]
    assert "overdrawn account must never reach the report" in found.text
    ((_, lines),) = found.quoted
    assert len(lines) == 1


def test_an_error_message_asks_for_the_code_that_raises_it(tree: ProjectTree) -> None:
    asked = [one for seed in range(8) for one in messages.examples(ProjectTree(tree.haystack, seed))]
    assert asked
    assert all(golds(one) == ["load_accounts"] for one in asked)
    assert all("balance of an account must not be negative" in one.text for one in asked)


def test_a_name_is_asked_as_it_is_or_in_words_and_leads_to_its_one_definition(tree: ProjectTree) -> None:
    found = {
        (one.golds[0].unit.name, one.text)
        for seed in range(20)
        for one in names.examples(ProjectTree(tree.haystack, seed))
    }
    about = [text for name, text in found if name == "load_accounts"]
    assert any("load_accounts" in text for text in about)
    assert {name for name, _ in found} <= {
        "load_accounts", "save_accounts", "opened_when", "monthly_summary", "Queue.PushItem",
        "test_a_file_without_accounts_is_fine",
    }  # fmt: skip


def test_several_descriptions_ask_for_all_of_their_functions(tree: ProjectTree) -> None:
    (found,) = multi.examples(tree)
    assert sorted(golds(found)) == ["load_accounts", "save_accounts"]
    assert "one on each line" in found.text
    assert len(found.quoted) == 2


def test_code_at_the_cursor_leads_to_the_definitions_it_uses_and_not_to_itself(tree: ProjectTree) -> None:
    found = [one for seed in range(10) for one in cursor.examples(ProjectTree(tree.haystack, seed))]
    by_place = {one.at.unit.name: one for one in found if one.at}
    assert golds(by_place["monthly_summary"]) == ["load_accounts"]
    assert golds(by_place["save_accounts"]) == ["opened_when"]
    assert golds(by_place["test_a_file_without_accounts_is_fine"]) == ["load_accounts"]
    assert all(one.code and one.code.text in one.at.text for one in found if one.at)


def test_a_function_leads_to_the_units_that_use_it(tree: ProjectTree) -> None:
    found = [one for one in usage.examples(tree) if "load_accounts" in one.text or one.at]
    (about,) = [one for one in found if "monthly_summary" in golds(one)]
    assert sorted(golds(about)) == ["monthly_summary", "test_a_file_without_accounts_is_fine"]


def test_prose_leads_to_its_section_and_to_the_code_it_names(tree: ProjectTree) -> None:
    found = [one for seed in range(6) for one in documentation.examples(ProjectTree(tree.haystack, seed))]
    sections = [one for one in found if one.kind == "documentation"]
    assert {name.rsplit(".", 1)[-1] for one in sections for name in golds(one)} == {"Rounding of amounts"}
    code = [one for one in found if one.kind == "documented"]
    assert code
    assert all(golds(one) == ["load_accounts", "save_accounts"] for one in code)


def test_a_hidden_fact_is_asked_for_where_it_was_hidden(tree: ProjectTree) -> None:
    sources = [SourceFile(f"ledger/{n}.py", b"def f():\n    return 1\n") for n in range(60)]
    shown, hidden = needles.hide(sources, random.Random(1))
    assert 1 <= len(hidden) <= 15
    files = indexed(shown)
    found = needles.examples(ProjectTree(Haystack(tree.haystack.repository, files), needles=hidden))
    for one, (question, path, line) in zip(found, hidden, strict=True):
        (gold,) = one.golds
        assert (one.text, gold.file.path) == (question, path)
        assert gold.unit.start_line <= line <= gold.unit.end_line
        assert len(gold.file.data) > len(sources[0].data)


def test_equal_seeds_give_equal_examples(tree: ProjectTree) -> None:
    again = ProjectTree(tree.haystack)
    assert [(one.kind, one.text) for one in all_examples(tree)] == [(one.kind, one.text) for one in all_examples(again)]


@pytest.mark.parametrize("seed", range(3))
def test_what_is_asked_never_stands_among_the_lines_shown(tree: ProjectTree, seed: int) -> None:
    for one in all_examples(ProjectTree(tree.haystack, seed)):
        for place, lines in one.quoted:
            shown = "".join(
                line
                for number, line in enumerate(place.text.splitlines(keepends=True), place.unit.start_line)
                if number not in lines
            )
            assert one.text.rstrip("?. ") not in shown


def test_a_commit_is_asked_about_with_the_units_that_it_changed(
    tree: ProjectTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = git.new(tmp_path / "clones" / "ada" / "ledger")
    (own,) = [file for file in tree.haystack.own_files if file.path.endswith("store.py")]
    path = own.path.partition("/")[2]
    git.commit(top, "Keep accounts on disk", {path: own.data.replace(b"10000", b"9000")})
    last = git.commit(top, "Count the days of a year right", {path: own.data})
    pin = commits.Pin(tree.project, "ada/ledger", last, "python")
    monkeypatch.setattr(commits, "pins", lambda: {tree.project: pin})
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (found,) = commits.examples(tree, tmp_path / "clones", scratch)
    assert golds(found) == ["opened_when"]
    assert "Count the days of a year right" in found.text
