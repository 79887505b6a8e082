from dataclasses import replace

import pytest

from winnow_engine.core import Span, UnitKind
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.layout import build_messages, with_latest_turns
from winnow_engine.question import Cursor, Question, Turn

DATA = "".join(f"line {n}\n" for n in range(1, 41)).encode()
WORKSPACE = Workspace((IndexedFile.of("a.txt", "a.txt", DATA),))


def span(start: int, end: int) -> Span:
    return Span("a.txt", start, end, 1, 0.0, UnitKind.BLOCK)


def content(spans: list[Span], question: Question) -> str:
    return build_messages(WORKSPACE, spans, question)[-1].content


def test_a_file_is_named_once_and_a_number_begins_each_run_of_lines() -> None:
    text = content([span(3, 4), span(5, 6), span(30, 31)], Question("why?"))
    assert text == "a.txt\n3 line 3\nline 4\nline 5\nline 6\n30 line 30\nline 31\n\n\nQuestion: why?"


def test_lines_keep_their_indentation_and_files_stand_apart() -> None:
    texts = {"a.py": b"def f():\n    return 1\n", "b.py": b"\n  x = 2\n"}
    files = (IndexedFile.of(path, path, data) for path, data in texts.items())
    spans = [replace(span(2, 2), path="a.py"), replace(span(1, 2), path="b.py")]
    shown = build_messages(Workspace(tuple(files)), spans, Question("why?"))[-1].content
    assert shown.startswith("a.py\n2     return 1\n\nb.py\n1 \n  x = 2\n\n\nQuestion")


SOURCE = b"import os\n\n\ndef first():\n    return 1\n\n\ndef second():\n    return os.sep\n"
TWO = Workspace(tuple(IndexedFile.of(path, path, SOURCE) for path in ("a.py", "b.py")))
SPANS = [
    Span(path, *lines, 1, 0.0, UnitKind.FUNCTION) for path in ("a.py", "b.py") for lines in ((1, 3), (4, 7), (8, 9))
]


@pytest.mark.parametrize("lines", [(8, 8), (9, 9), (8, 9), (4, 9)])
def test_the_code_at_the_cursor_stands_first(lines: tuple[int, int]) -> None:
    shown = build_messages(TWO, SPANS, Question("why?", Cursor("b.py", *lines)))[1].content
    first, rest = shown.split("\na.py\n", 1)
    assert first.startswith("b.py\n")
    assert "def second" in first
    assert ("def first" in first) == (lines[0] == 4)
    assert rest.startswith("1 import os\n")
    assert shown.count("def second") == 2, "once in either file"


CLASSES = b"""# Basket
class Basket(Base):
    # adds

    def add(self, item):
        return item

    def drop(self, item):
        pass


class Till:
    def pay(self):
        pass
"""


def test_the_line_of_a_class_stands_above_the_first_of_its_methods() -> None:
    file = IndexedFile.of("a.py", "a.py", CLASSES)
    methods = [one for one in file.units if one.kind is UnitKind.METHOD]
    spans = [Span("a.py", one.start_line, one.end_line, 1, 0.0, one.kind, one.name) for one in methods]
    shown = build_messages(Workspace((file,)), spans, Question("why?"))[-1].content
    lines = shown.splitlines()
    assert lines[1] == "2 class Basket(Base):"
    assert shown.count("class Basket") == shown.count("class Till") == 1


def test_the_file_with_the_best_span_stands_last_and_then_the_contract() -> None:
    spans = [replace(span, score=score) for span, score in zip(SPANS, (0.0, 3.0, 0.0, 1.0, 2.0, 0.0), strict=True)]
    shown = build_messages(TWO, spans, Question("why?"), contract="Be brief.")[-1].content
    assert shown.index("b.py") < shown.index("a.py")
    assert shown.endswith("Question: why?\n\nBe brief.")


TURNS = (Turn("one?", "1 1 1"), Turn("two?", "2"), Turn("three?", "3 3"))


@pytest.mark.parametrize(("tokens", "kept"), [(0, 0), (3, 0), (4, 1), (6, 1), (7, 2), (12, 3)])
def test_the_latest_turns_that_fit_are_kept(tokens: int, kept: int) -> None:
    question = with_latest_turns(Question("why?", earlier=TURNS), tokens, lambda text: len(text.split()))
    assert question.earlier == TURNS[3 - kept :]


def test_cursor_and_selection_are_named() -> None:
    assert "The cursor is at a.txt:4." in content([], Question("why?", Cursor("a.txt", 4, 4)))
    assert "Selected: a.txt:4-9." in content([], Question("why?", Cursor("a.txt", 4, 9)))
