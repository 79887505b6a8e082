from collections.abc import Sequence
from pathlib import Path

import pytest

from winnow_engine.core import Span, UnitKind
from winnow_engine.index.indexed_file import IndexedFile
from winnow_engine.index.workspace import Workspace
from winnow_engine.prompting.conversation import Conversation, Conversations, follow_up_budget, is_too_long
from winnow_engine.prompting.layout import build_messages, continued_messages
from winnow_engine.prompting.messages import Message
from winnow_engine.question import Question, Turn
from winnow_engine.storage.store import Store


def workspace(**texts: str) -> Workspace:
    files = ((f"{name}.txt", text.encode()) for name, text in texts.items())
    return Workspace(tuple(IndexedFile.of(path, path, data) for path, data in files))


def lines(first: int, last: int) -> str:
    return "".join(f"line {n}\n" for n in range(first, last + 1))


def span(path: str, start: int, end: int, tokens: int = 10) -> Span:
    return Span(path, start, end, tokens, 0.0, UnitKind.BLOCK)


BEFORE = workspace(a=lines(1, 40), b=lines(1, 9))
FIRST = Question("What is it?")
SHOWN = (span("a.txt", 3, 9), span("b.txt", 1, 4))
MESSAGES = build_messages(BEFORE, SHOWN, FIRST)
HAD = Conversation.of(FIRST, "A line.", MESSAGES, BEFORE, SHOWN)
FOLLOWING = Question("And why?", earlier=(Turn("What is it?", "A line."),))


def ranges(spans: Sequence[Span]) -> list[tuple[str, int, int]]:
    return [(one.path, one.start_line, one.end_line) for one in spans]


def test_a_follow_up_repeats_every_message_and_adds_what_is_new() -> None:
    messages = continued_messages(HAD.messages, BEFORE, [span("a.txt", 30, 31)], FOLLOWING)
    assert messages[:-1] == [*MESSAGES, Message("assistant", "A line.")]
    assert messages[-1].role == "user"
    assert messages[-1].content.startswith("a.txt\n30 line 30\nline 31\n")
    assert messages[-1].content.endswith("\n\nQuestion: And why?")


def test_a_conversation_stored_with_line_numbers_in_a_margin_goes_on(tmp_path: Path) -> None:
    shown = "⋯ 9 lines\na.txt:10-11\n   10 line 10\n      line 11\n⋯ 29 lines\n\n\nQuestion: What is it?"
    former = (Message("system", "Every tenth line is numbered."), Message("user", shown))
    store = Store(tmp_path / "index.sqlite")
    Conversations(store).add(Conversation.of(FIRST, "A line.", former, BEFORE, (span("a.txt", 10, 11),)))
    had = Conversations(store).with_turns(FOLLOWING.earlier)
    assert had is not None
    assert had.goes_on(FOLLOWING, BEFORE)
    new = had.unseen([span("a.txt", 10, 11), span("b.txt", 2, 3)])
    *before, added = continued_messages(had.messages, BEFORE, new, FOLLOWING)
    assert before == [*former, Message("assistant", "A line.")]
    assert added.content == "b.txt\n2 line 2\nline 3\n\n\nQuestion: And why?"


@pytest.mark.parametrize(
    ("changed", "goes_on"),
    [
        ({"a": lines(1, 40) + "more\n", "b": lines(1, 9)}, True),  # behind what was shown
        ({"a": "new\n" + lines(1, 40), "b": lines(1, 9)}, False),  # its line numbers moved
        ({"a": lines(1, 5), "b": lines(1, 9)}, False),
        ({"a": lines(1, 40)}, False),
    ],
)
def test_changed_code_makes_the_next_prompt_fresh(changed: dict[str, str], goes_on: bool) -> None:
    assert HAD.goes_on(FOLLOWING, workspace(**changed)) == goes_on


def test_only_spans_with_lines_not_shown_are_new() -> None:
    spans = [span("a.txt", 4, 6), span("a.txt", 8, 12), span("b.txt", 5, 6)]
    assert ranges(HAD.unseen(spans)) == [("a.txt", 8, 12), ("b.txt", 5, 6)]


def test_all_that_is_shown_stands_in_order_and_a_larger_span_replaces_a_smaller() -> None:
    spans = HAD.with_spans([span("b.txt", 1, 6), span("a.txt", 20, 21)])
    assert ranges(spans) == [("a.txt", 3, 9), ("a.txt", 20, 21), ("b.txt", 1, 6)]


def test_it_goes_on_only_behind_its_own_turns() -> None:
    assert HAD.goes_on(FOLLOWING, BEFORE)
    assert not HAD.goes_on(FIRST, BEFORE)
    assert not HAD.goes_on(Question("?", earlier=(Turn("What is it?", "Another."),)), BEFORE)


def test_a_follow_up_adds_a_share_of_the_budget_but_all_of_it_at_the_cursor() -> None:
    assert [follow_up_budget(tokens, at_cursor=False) for tokens in (0, 40, 100, 2600)] == [0, 40, 64, 1300]
    assert follow_up_budget(2600, at_cursor=True) == 2600


def test_code_that_piles_up_over_two_budgets_is_too_long() -> None:
    assert not is_too_long([span("a.txt", 1, 2, 5200)], 2600)
    assert is_too_long([span("a.txt", 1, 2, 5201)], 2600)
    assert not is_too_long([span("a.txt", 1, 2, 3000)], 0)
