"""A conversation as files and back: nothing is lost, nothing protected is touched, what is left out is marked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow_engine.chat.passages import compressible, passages, rebuilt
from winnow_engine.index.lines import Lines
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import ToolCall

BLOCK = "Look:\n```python src/area.py\ndef area(r):\n    return r * r\n```\nDone."


def said(*contents: str) -> list[Message]:
    """A conversation of user and assistant in turn."""
    return [Message("user" if i % 2 == 0 else "assistant", text) for i, text in enumerate(contents)]


def everything(messages: list[Message]) -> dict[str, list[tuple[int, int]]]:
    kept = {one.path: Lines(one.data).count for one in passages(messages)}
    return {path: [(1, count)] for path, count in kept.items() if count}


def test_the_system_and_the_last_question_are_never_cut() -> None:
    messages = [Message("system", "a"), *said("b", "c", "d"), Message("system", "e"), Message("assistant", "f")]
    assert compressible(messages) == [1, 2]
    assert {one.message for one in passages(messages)} == {1, 2}
    assert [m.content for m in rebuilt(messages, passages(messages), {})] == [
        "a", "⋯ 1 line left out\n", "⋯ 1 line left out\n", "d", "e", "f",
    ]  # fmt: skip


def test_blocks_are_files_by_the_name_or_language_their_fence_says() -> None:
    contents = [BLOCK, "```ts\nlet a\n```\n~~~python\nx = 1\n```\n~~~", "```\nlog\n", "```so``` is it\n`so`", "last"]
    found = [(one.local_path, one.text) for one in passages(said(*contents))]
    assert found == [
        ("message-0-0.md", "Look:\n"),
        ("src/area.py", "def area(r):\n    return r * r\n"),
        ("message-0-2.md", "Done."),
        ("message-1-0.ts", "let a\n"),
        ("message-1-1.py", "x = 1\n```\n"),
        ("message-2-0.txt", "log\n"),
        ("message-3-0.md", "```so``` is it\n`so`"),
    ]


@pytest.mark.parametrize("start", ["", "./", "../../", "/"])
def test_a_result_is_the_file_that_its_call_names(start: str) -> None:
    call = ToolCall("1", "read", f'{{"path": "{start}.github/ci.yml"}}')
    messages = [Message("assistant", "", (call,)), Message("tool", "on: push\n", call_id="1")]
    assert passages([*messages, *said("And?", "So.", "last")])[-3].local_path == ".github/ci.yml"


def test_what_is_left_out_is_one_mark_a_gap_and_fences_stay_with_their_code() -> None:
    messages = said(BLOCK, "", "last")
    all_of_it = passages(messages)
    shown = rebuilt(messages, all_of_it, {all_of_it[1].path: [(2, 2)]})[0].content
    assert shown == (
        "⋯ 1 line left out\n```python src/area.py\n⋯ 1 line left out\n    return r * r\n```\n⋯ 1 line left out\n"
    )
    assert rebuilt(messages, all_of_it, {})[0].content == "⋯ 6 lines left out\n"


LINES = st.sampled_from(
    ["```", "```py\n", "~~~~\n", "````\n", "```\n", "text\r\n", "\n", "def f():\r", "\u2028é\n", "x"]
)


@given(st.lists(LINES, max_size=12).map("".join))
def test_all_of_it_kept_is_all_of_it(content: str) -> None:
    messages = said(content, "answer", "last")
    assert rebuilt(messages, passages(messages), everything(messages)) == messages


def test_half_a_surrogate_pair_does_not_stop_anything() -> None:
    messages = said("a\ud800b\n", "", "last")
    assert rebuilt(messages, passages(messages), everything(messages))[0].content == "a?b\n"


@pytest.mark.parametrize("fences", ["```\n" * 20_000, "".join("`" * (3 + i % 300) + "\n" for i in range(20_000))])
def test_many_fences_take_no_longer_than_they_are_long(fences: str) -> None:
    assert passages(said(fences, "x", "last"))


@pytest.mark.parametrize("text", ["``` " + "x" * 300_000 + "\n```", "`" * 300_000, "``` " + "x/" * 150_000])
def test_a_long_line_of_a_fence_is_read_in_linear_time(text: str) -> None:
    found = passages([Message("user", text), Message("user", "And?")])
    assert "".join(one.opening + one.text + one.closing for one in found) == text
