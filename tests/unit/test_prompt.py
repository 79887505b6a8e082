from pathlib import Path

from winnow_engine.core import Cursor, Question, Span, UnitKind
from winnow_engine.index.symbols import analyse
from winnow_engine.index.workspace import IndexedFile, Workspace
from winnow_engine.prompt import build_messages

DATA = "".join(f"line {n}\n" for n in range(1, 41)).encode()
WORKSPACE = Workspace(Path(), (IndexedFile("a.txt", DATA, "k", analyse("a.txt", DATA)),))


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
