"""Edits of exact lines: what they leave alone, whatever ends the lines, and the check that a file still parses."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow_engine.editing.changes import FileEdit, LineEdit, is_sound, replacing
from winnow_engine.index.lines import text_lines


def edited(data: bytes, *edits: LineEdit) -> bytes:
    return FileEdit("a.py", data, edits).after


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_only_lines_that_differ_are_edited_and_end_as_the_file_does(end: str) -> None:
    data = end.join(["one", "two", "three", "four", ""]).encode()
    edits = tuple(replacing(data, 2, 4, ["two", "3", "four", "five"]))
    assert [(edit.start_line, edit.end_line) for edit in edits] == [(3, 3), (5, 4)]
    assert edited(data, *edits) == end.join(["one", "two", "3", "four", "five", ""]).encode()


@given(st.lists(st.sampled_from("ab"), max_size=6), st.lists(st.sampled_from("abc"), max_size=6))
def test_any_lines_become_any_others(old: list[str], new: list[str]) -> None:
    data = "".join(f"{line}\n" for line in ["first", *old, "last"]).encode()
    edits = tuple(replacing(data, 1, len(old) + 2, ["first", *new, "last"]))
    assert text_lines(edited(data, *edits).decode()) == ["first", *new, "last"]
    assert all(one.end_line < other.start_line for one, other in pairwise(edits))


@pytest.mark.parametrize("text", ["def f(:\n    pass\n", "def f():\n", "x = (1\n", "def f():\n\nclass A:\n    pass\n"])
def test_what_would_no_longer_parse_is_refused(text: str) -> None:
    assert is_sound(FileEdit("a.py", b"x = 1\n", (LineEdit(1, 1, text),))) is False


def test_a_file_with_errors_may_be_changed_as_long_as_it_does_not_get_worse() -> None:
    broken = b"def f(:\n    pass\n\n\nx = 1\n"
    assert is_sound(FileEdit("a.py", broken, (LineEdit(5, 5, "x = 2\n"),)))
    assert is_sound(FileEdit("a.py", broken, (LineEdit(1, 1, "def f():\n"),)))
    assert not is_sound(FileEdit("a.py", broken, (LineEdit(5, 5, "x = )\n"),)))
