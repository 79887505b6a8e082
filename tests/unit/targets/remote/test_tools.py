"""Tools of a target on a server: they are passed on in the fields of its API, and calls are streamed back."""

import json
from typing import Any

import pytest

from winnow_engine.core import Sampling
from winnow_engine.errors import TargetProtocolError
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import NO_TOOLS, CallDelta, ToolCall, Tools
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.remote.address import parse
from winnow_engine.targets.remote.client import RetryPolicy
from winnow_engine.targets.remote.target import HttpTarget

from ..hostile import DONE, GOOD, Hostile, delta, event

LOOK = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}
LOOKS = Tools((LOOK,))
CONVERSATION = [
    Message("user", "Where?"),
    Message("assistant", "", (ToolCall("call_1", "look", '{"at": 1}'),)),
    Message("tool", "nothing", call_id="call_1"),
]


def ask(
    hostile: Hostile,
    tools: Tools = LOOKS,
    stop: tuple[str, ...] = (),
    messages: Any = CONVERSATION,
    policy: RetryPolicy | None = None,
) -> tuple[Generation, list[CallDelta]]:
    target, called = HttpTarget.open(parse(f"{hostile.url}/v1"), policy=policy), list[CallDelta]()
    prompt = target.chat_prompt(messages, tools)
    sampling = Sampling(max_tokens=8, stop=stop)
    return target.generate(Request(prompt, sampling, on_call=called.append)), called


def call(index: int | None, arguments: Any, call_id: str | None = None, name: str | None = None) -> dict[str, Any]:
    function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
    return {"index": index, "id": call_id, "type": "function", "function": function}


@pytest.mark.parametrize(
    ("tools", "sent"),
    [
        (Tools((LOOK,)), {"tools": [LOOK]}),
        (Tools((LOOK,), required=True), {"tools": [LOOK], "tool_choice": "required"}),
        (
            Tools((LOOK,), required=True, only="look", parallel=False),
            {
                "tools": [LOOK],
                "tool_choice": {"type": "function", "function": {"name": "look"}},
                "parallel_tool_calls": False,
            },
        ),
        (NO_TOOLS, {}),
    ],
)
def test_tools_and_calls_go_out_as_they_came(hostile: Hostile, tools: Tools, sent: dict[str, Any]) -> None:
    ask(hostile, tools)
    (talk,) = hostile.chats
    fields = {name: talk.document[name] for name in talk.document if "tool" in name}
    assert fields == sent
    function = {"name": "look", "arguments": '{"at": 1}'}
    assert talk.document["messages"] == [
        {"role": "user", "content": "Where?"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
        },
        {"role": "tool", "content": "nothing", "tool_call_id": "call_1"},
    ]


def test_calls_come_back_as_they_stream(hostile: Hostile) -> None:
    hostile.chat = lambda talk: talk.stream(
        event("I look."),
        delta(tool_calls=[call(0, "", "call_7", "look")]),
        delta(tool_calls=[call(0, '{"at"')]),
        delta(tool_calls=[call(0, ": 2}"), call(1, {"at": 3}, "call_8", "look")]),
        delta(tool_calls=[call(None, None)]),
        delta(finish="tool_calls"),
        DONE,
    )
    answer, called = ask(hostile)
    assert (answer.text, answer.finish, answer.decode_tokens) == ("I look.", "eos", 5)
    assert called == [
        CallDelta(0, "call_7", "look", ""), CallDelta(0, arguments='{"at"'), CallDelta(0, arguments=": 2}"),
        CallDelta(1, "call_8", "look", '{"at": 3}'), CallDelta(0),
    ]  # fmt: skip


def test_a_call_that_is_held_back_until_it_is_whole_is_waited_for(hostile: Hostile) -> None:
    pieces = (event("I look."), delta(tool_calls=[call(0, "{}", "1", "look")]), delta(finish="tool_calls"), DONE)
    hostile.chat = lambda talk: talk.stream(*pieces, pause_s=0.2)
    _, called = ask(hostile, policy=RetryPolicy(between_tokens_s=0.05))
    assert called == [CallDelta(0, "1", "look", "{}")]


@pytest.mark.parametrize("bad", ["x", [1], [{"function": 5}], [{"index": "a", "function": {}}], [call(0, [1])]])
def test_calls_in_another_form_have_a_name(hostile: Hostile, bad: Any) -> None:
    hostile.chat = lambda talk: talk.stream(delta(tool_calls=bad), DONE)
    with pytest.raises(TargetProtocolError, match="no chunk"):
        ask(hostile)


def test_calls_that_were_not_asked_for_are_refused(hostile: Hostile) -> None:
    hostile.chat = lambda talk: talk.stream(delta(tool_calls=[call(0, "{}", "1", "look")]), DONE)
    with pytest.raises(TargetProtocolError, match="tool_calls, which were not asked for"):
        ask(hostile, NO_TOOLS)


def test_an_endless_call_is_given_up(hostile: Hostile) -> None:
    hostile.chat = lambda talk: talk.stream(*[delta(tool_calls=[call(0, "x" * 5000, "1", "look")])] * 99)
    with pytest.raises(TargetProtocolError, match="does not stop"):
        ask(hostile)


def test_tools_and_calls_count_towards_the_prompt(hostile: Hostile) -> None:
    target = HttpTarget.open(parse(f"{hostile.url}/v1"))
    asked = CONVERSATION[:1]
    assert len(target.chat_prompt(asked, Tools((LOOK,)))) > len(target.chat_prompt(asked)) + 400
    assert len(target.chat_prompt(CONVERSATION[:2])) > len(target.chat_prompt(asked)) + 32


@pytest.mark.parametrize(
    ("stop", "said", "finish"),
    [
        ((), {}, "eos"),
        (("END",), {}, "stop"),
        (("END",), {"stop_reason": "END"}, "stop"),
        (("END",), {"stop_reason": None}, "eos"),
        (("END",), {"stop_reason": 151645}, "eos"),
        (("END",), {"matched_stop": "END"}, "stop"),
        (("END",), {"matched_stop": 151645}, "eos"),
    ],
)
def test_a_stop_string_is_no_end_of_sequence(
    hostile: Hostile, stop: tuple[str, ...], said: dict[str, Any], finish: str
) -> None:
    choice = {"index": 0, "delta": {}, "finish_reason": "stop", **said}
    last = b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"
    hostile.chat = lambda talk: talk.stream(*GOOD[:2], last, DONE)
    answer, _ = ask(hostile, NO_TOOLS, stop, CONVERSATION[:1])
    assert (answer.text, answer.finish) == ("Hello", finish)
