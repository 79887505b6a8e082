"""Rules that turn descriptions into questions."""

import random

import pytest

from winnow_research.training.wording import asked, infinitive, keywords, split_name


@pytest.mark.parametrize(
    ("word", "verb"),
    [("Returns", "return"), ("return", "return"), ("Parses", "parse"), ("applies", "apply"), ("matches", "match"),
     ("This", None), ("Functions", None), ("Status", None)],
)  # fmt: skip
def test_the_verb_a_description_opens_with_is_known_in_both_forms(word: str, verb: str | None) -> None:
    assert infinitive(word) == verb


def test_a_question_keeps_the_words_of_the_description_and_agrees_with_its_verb() -> None:
    questions = {asked("Returns the oldest account of a user.", "ledger", random.Random(seed)) for seed in range(40)}
    assert "How does ledger return the oldest account of a user?" in questions
    assert "Which code returns the oldest account of a user?" in questions
    assert all("the oldest account of a user" in question for question in questions)


def test_a_description_without_a_verb_is_asked_for_as_a_thing() -> None:
    questions = {asked("The oldest account of a user.", "ledger", random.Random(seed)) for seed in range(20)}
    assert "Where is this: the oldest account of a user?" in questions


def test_keywords_are_words_that_mean_something_in_their_order() -> None:
    assert keywords("The oldest of all accounts is returned when it is the only one", random.Random(0)) == (
        "oldest accounts returned one"
    )


@pytest.mark.parametrize("name", ["readHTTPHeader", "read_http_header", "ReadHTTPHeader", "READ_HTTP_HEADER"])
def test_a_name_falls_into_its_words(name: str) -> None:
    assert split_name(name) == "read http header"
