import pytest

from winnow_engine.index.naming import SymbolTable

TABLE = SymbolTable([("parse_args", 0), ("Parser", 1), ("run", 2), ("run", 3), ("invoke", 4)], 5)


@pytest.mark.parametrize("question", ["what does parse_args do", "see `parse_args`", "parse_args() fails"])
def test_names_that_can_only_be_code_are_certain(question: str) -> None:
    named, mentioned = TABLE.score(question)
    assert named.argmax() == 0
    assert named[0] == 1
    assert not mentioned.any()


def test_dotted_names_in_back_quotes_count_by_part() -> None:
    named, _ = TABLE.score("what does `Parser.invoke` do?")
    assert named[1] == named[4] == 1


def test_plain_words_are_kept_apart() -> None:
    named, mentioned = TABLE.score("how do I run and invoke it")
    assert not named.any()
    assert mentioned[4] == 1
    assert mentioned[2] == mentioned[3] == pytest.approx(2**-0.5)


def test_call_marks_a_plain_word_as_code() -> None:
    named, _ = TABLE.score("who calls invoke(ctx)")
    assert named.argmax() == 4


def test_names_at_the_cursor_are_certain() -> None:
    named, mentioned = TABLE.score("explain this", {"run", "unknown_name"})
    assert named[2] == named[3] > 0
    assert not mentioned.any()
