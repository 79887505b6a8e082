"""The code in answers of every shape."""

from __future__ import annotations

import pytest

from winnow_engine.editing.changes import FileEdit, LineEdit
from winnow_engine.editing.reply import edit_of, is_enough
from winnow_engine.errors import NoCodeError


def read(code: str) -> FileEdit:
    """An edit for code with `def f`; none where it is the old code."""
    if "def f" not in code:
        raise NoCodeError("no f")
    edits = () if code == "def f(): old\n" else (LineEdit(1, 1, code),)
    return FileEdit("a.py", b"def f(): old\n", edits)


def new(text: str) -> str:
    return edit_of(text, read).edits[0].text


@pytest.mark.parametrize(
    "answer",
    [
        "```python\ndef f(): new\n```",
        "Here you are:\n\n```\ndef f(): new\n```\nIt was wrong.",
        "~~~py\ndef f(): new\n~~~",
        "```python\r\ndef f(): new\r\n```\r\n",
        "```python\ndef f(): new\n",  # the fence never closes
        "def f(): new\n",  # no fence at all
        "Before:\n```python\ndef f(): old\n```\nAfter:\n```python\ndef f(): new\n```",
        "```sh\nwinnow fix\n```\n```python\ndef f(): new\n```",
        "```python\ndef f(): new\n```\nAgain:\n```python\ndef f(): new\n```",
        "  ```python\ndef f(): new\n  ```",
    ],
)
def test_the_code_is_found(answer: str) -> None:
    assert new(answer) == "def f(): new\n"


@pytest.mark.parametrize("answer", ["", "I cannot do that.", "```python\nprint(1)\n```", "```\n```", "```"])
def test_an_answer_without_the_code_is_refused(answer: str) -> None:
    with pytest.raises(NoCodeError, match="nothing was changed"):
        edit_of(answer, read)


def test_an_answer_is_enough_once_a_block_that_changes_something_is_closed() -> None:
    answer = "Now:\n```python\ndef f(): old\n```\nThen:\n```python\ndef f(): new\n```\nbecause"
    enough = [is_enough(answer[:end], read) for end in range(len(answer))]
    assert enough.index(True) == answer.rindex("```") + 4


def test_code_that_was_cut_off_does_not_count() -> None:
    with pytest.raises(NoCodeError):
        edit_of("```python\ndef f(): ne", read, whole=False)
    assert edit_of("```\ndef f(): new\n```\nBecause th", read, whole=False).edits
