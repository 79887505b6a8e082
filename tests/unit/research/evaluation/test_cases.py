"""Taking lines out of a scene moves its golds and cursors."""

import pytest

from winnow_engine.question import Cursor, Question
from winnow_research.evaluation.cases import Case, Gold, Scene, without_lines
from winnow_research.evaluation.repositories import SourceFile


def test_golds_and_cursors_follow_their_lines() -> None:
    files = (SourceFile("a.py", b"1\n2\r\n3\r4\n5\n6"), SourceFile("b.py", b"1\n2\n"))
    golds = (Gold("a.py", 2, 4), Gold("a.py", 5, 6), Gold("b.py", 1, 2))
    case = Case("describe", "a", "python", Question("?", Cursor("a.py", 6, 6)), golds)
    changed = without_lines(Scene("a", files, (case,)), {"a.py": {1, 3}})
    assert [file.data for file in changed.files] == [b"2\r\n4\n5\n6", b"1\n2\n"]
    assert changed.cases[0].golds == (Gold("a.py", 1, 2), Gold("a.py", 3, 4), Gold("b.py", 1, 2))
    assert changed.cases[0].question.cursor == Cursor("a.py", 4, 4)


def test_a_gold_is_a_range_of_lines() -> None:
    with pytest.raises(ValueError, match="1-based"):
        Gold("a.py", 0, 3)
    with pytest.raises(ValueError, match="1-based"):
        Gold("a.py", 4, 3)
