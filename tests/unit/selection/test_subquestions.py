import pytest

from winnow_engine.selection.subquestions import subquestions_of


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How is it read, and where is it written?", ("How is it read", "where is it written?")),
        (
            "Which code does each of these: (1) opens a log file; (2) closes all connections?",
            ("opens a log file", "closes all connections?"),
        ),
        ("It fails with an error. Where is that raised?", ("It fails with an error.", "Where is that raised?")),
        ("Where is the retry handled?", ()),
        ("Why? Where is the retry handled?", ()),
        ("", ()),
    ],
)
def test_a_question_falls_into_what_it_asks_for(question: str, expected: tuple[str, ...]) -> None:
    assert subquestions_of(question) == expected


def test_a_pasted_log_is_one_question() -> None:
    assert subquestions_of("Why does it stop?\n" + "this line went wrong\n" * 100) == ()
