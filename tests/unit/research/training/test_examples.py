"""Each source of examples on a small project: what is asked, what answers it, and which lines are not shown."""

import pytest

from winnow_research.training.examples import cursor, describe, names, usage
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
