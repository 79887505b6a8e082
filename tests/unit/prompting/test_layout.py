import pytest

from winnow_engine.core import Cursor, Question, Span, Turn, UnitKind
from winnow_engine.index.symbols import analyse
from winnow_engine.index.workspace import IndexedFile, Workspace
from winnow_engine.prompting.layout import build_messages, with_latest_turns

DATA = "".join(f"line {n}\n" for n in range(1, 41)).encode()
WORKSPACE = Workspace((IndexedFile("a.txt", "a.txt", DATA, "k", analyse("a.txt", DATA)),))


def span(start: int, end: int) -> Span:
    return Span("a.txt", start, end, 1, 0.0, UnitKind.BLOCK)


def content(spans: list[Span], question: Question) -> str:
    return build_messages(WORKSPACE, spans, question)[-1].content


def test_spans_that_touch_share_a_header_and_gaps_are_marked() -> None:
    text = content([span(3, 9), span(10, 12), span(30, 31)], Question("why?"))
    assert text.startswith("⋯ 2 lines\na.txt:3-12\n")
    assert "⋯ 17 lines\na.txt:30-31\n" in text
    assert "⋯ 9 lines\n" in text
    assert text.endswith("Question: why?")


def test_every_tenth_line_is_numbered_and_columns_stay_aligned() -> None:
    text = content([span(9, 11)], Question("why?"))
    assert "      line 9\n   10 line 10\n      line 11\n" in text


def test_whole_file_has_no_elision() -> None:
    assert "⋯" not in content([span(1, 40)], Question("why?"))


def test_cursor_and_selection_are_named() -> None:
    assert "The cursor is at a.txt:4." in content([], Question("why?", Cursor("a.txt", 4, 4)))
    assert "Selected: a.txt:4-9." in content([], Question("why?", Cursor("a.txt", 4, 9)))


def test_nothing_found_is_said() -> None:
    assert "Nothing in the repository was found" in content([], Question("why?"))


TURNS = (Turn("one?", "1 1 1"), Turn("two?", "2"), Turn("three?", "3 3"))


def test_earlier_turns_stand_before_the_code() -> None:
    messages = build_messages(WORKSPACE, [span(1, 2)], Question("why?", earlier=TURNS[:1]))
    assert [(m.role, m.content) for m in messages[1:3]] == [("user", "Question: one?"), ("assistant", "1 1 1")]
    assert "a.txt:1-2" in messages[3].content


@pytest.mark.parametrize(("tokens", "kept"), [(0, 0), (3, 0), (4, 1), (6, 1), (7, 2), (12, 3)])
def test_the_latest_turns_that_fit_are_kept(tokens: int, kept: int) -> None:
    question = with_latest_turns(Question("why?", earlier=TURNS), tokens, lambda text: len(text.split()))
    assert question.earlier == TURNS[3 - kept :]


def test_a_follow_up_is_searched_with_the_question_before_it() -> None:
    assert Question("why?", earlier=TURNS).search_text == "three?\nwhy?"
