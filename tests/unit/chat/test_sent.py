"""What is remembered of conversations: the longest known beginning, within bounds."""

import json
from dataclasses import replace

import pytest
from clock import Clock
from hypothesis import given
from hypothesis import strategies as st

from winnow_engine.chat.fitting import SentConversations
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import NO_TOOLS, ToolCall

SYSTEM = Message("system", "Be brief.")
ASKED = [SYSTEM, Message("user", "a long text"), Message("assistant", "Yes."), Message("user", "Why?")]
CUT = [SYSTEM, Message("user", "text"), *ASKED[2:]]
LATER = [*ASKED, Message("assistant", "So."), Message("user", "And?")]


def test_what_was_sent_is_found_for_what_goes_on_from_it() -> None:
    clock = Clock()
    sent = SentConversations(clock=clock)
    sent.remember(ASKED, NO_TOOLS, CUT)
    clock.now = 5
    found = sent.find(LATER, NO_TOOLS)
    assert found is not None
    assert (found.length, found.cut, found.age_s) == (4, {1: "text"}, 5)
    assert found.continued(LATER) == [*CUT, *LATER[4:]]


def test_a_conversation_that_turns_off_earlier_keeps_what_both_share() -> None:
    sent = SentConversations()
    sent.remember(ASKED, NO_TOOLS, CUT)
    other = [*ASKED[:3], Message("user", "How?")]
    found = sent.find(other, NO_TOOLS)
    assert found is not None
    assert (found.length, found.continued(other)) == (3, [*CUT[:3], other[3]])


CALL = ToolCall("1", "look", "{}")


@pytest.mark.parametrize(
    "other",
    [
        [SYSTEM, Message("user", "a long text.")],
        [Message("system", "Be long."), ASKED[1]],
        [SYSTEM, replace(ASKED[1], role="assistant")],
        [SYSTEM, replace(ASKED[1], calls=(CALL,))],
        [SYSTEM, replace(ASKED[1], call_id="1")],
        [SYSTEM],
        [],
    ],
)
def test_any_difference_makes_it_another_conversation(other: list[Message]) -> None:
    sent = SentConversations()
    sent.remember(ASKED, NO_TOOLS, CUT)
    assert sent.find([*other, Message("user", "Why?")], NO_TOOLS) is None


def test_texts_are_bounded_in_bytes() -> None:
    sent = SentConversations(most_bytes=1000)
    for name in "abc":
        sent.remember([Message("user", name)], NO_TOOLS, [Message("user", name * 150)])
    assert [bool(sent.find([Message("user", name)], NO_TOOLS)) for name in "abc"] == [False, False, True]
    sent.remember([Message("user", "d")], NO_TOOLS, [Message("user", "d" * 900)])
    assert len(sent) == 0


MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["user", "assistant", "system"]), st.sampled_from("ab")), max_size=5
)


@given(st.lists(MESSAGES, max_size=12), MESSAGES, st.integers(1, 4))
def test_what_is_found_was_sent_for_that_beginning(
    conversations: list[list[Message]], asked: list[Message], most: int
) -> None:
    """Against a list of all that was ever sent: what is found is the latest for the beginning it claims."""
    sent, ever = SentConversations(most=most), list[tuple[list[Message], list[Message]]]()
    for number, messages in enumerate(conversations):
        given_ = [replace(message, content=f"{message.content}{number}") for message in messages]
        sent.remember(messages, NO_TOOLS, given_)
        ever.append((messages, given_))
        assert len(sent) <= most
    found = sent.find(asked, NO_TOOLS)
    if found is None:
        return
    assert any(message.role != "system" for message in asked[: found.length])
    same = [given_ for own, given_ in ever if own[: found.length] == asked[: found.length]]
    assert found.continued(asked)[: found.length] in [given_[: found.length] for given_ in same]
    assert json.dumps(sorted(found.cut)) == json.dumps(list(range(found.length)))
