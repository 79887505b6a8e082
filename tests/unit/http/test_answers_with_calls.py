"""Calls of tools in answers, and what ended these, in the form of OpenAI's API."""

import pytest

from winnow_engine.core import Finish
from winnow_engine.prompting.tools import CallDelta, ToolCall

from .fake import CHAT, HELLO, Fake, events, serving

CALLS = (ToolCall("call_1", "look", '{"at": 1}'), ToolCall("call_2", "stop", "{}"))
FUNCTIONS = [{"name": "look", "arguments": '{"at": 1}'}, {"name": "stop", "arguments": "{}"}]


def calling(text: str, finish: Finish = "eos") -> Fake:
    """Says something, and calls both."""
    whole = (CallDelta(n, call.id, call.name) for n, call in enumerate(CALLS))
    bits = ((one, CallDelta(one.index, arguments=CALLS[one.index].arguments)) for one in whole)
    fake = Fake(*([text] if text else []), *(delta for pair in bits for delta in pair))
    fake.calls, fake.finish = CALLS, finish
    return fake


@pytest.mark.parametrize(("text", "content"), [("I look.", "I look."), ("", None)])
async def test_calls_of_tools_are_fields_of_a_whole_answer(text: str, content: str | None) -> None:
    async with serving(calling(text)) as client:
        (choice,) = (await client.post(CHAT, json=HELLO)).json()["choices"]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", content)
    calls = choice["message"]["tool_calls"]
    assert [call["function"] for call in calls] == FUNCTIONS
    assert [(call["id"], call["type"]) for call in calls] == [("call_1", "function"), ("call_2", "function")]


async def test_calls_stream_with_id_and_name_first_and_arguments_after() -> None:
    async with serving(calling("I look.")) as client:
        answer = await client.post(CHAT, json={**HELLO, "stream": True})
    *chunks, done = events(answer.text)
    choices = [chunk["choices"][0] for chunk in chunks]
    assert [choice["finish_reason"] for choice in choices] == [None] * 6 + ["tool_calls"]
    assert (choices[1]["delta"], done) == ({"content": "I look."}, "[DONE]")
    assert [choice["delta"]["tool_calls"] for choice in choices[2:6]] == [
        [{"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": ""}}],
        [{"index": 0, "function": {"arguments": '{"at": 1}'}}],
        [{"index": 1, "id": "call_2", "type": "function", "function": {"name": "stop", "arguments": ""}}],
        [{"index": 1, "function": {"arguments": "{}"}}],
    ]


@pytest.mark.parametrize(("finish", "reason"), [("eos", "stop"), ("stop", "stop"), ("length", "length")])
async def test_what_ended_an_answer_is_told_in_openais_words(finish: Finish, reason: str) -> None:
    fake = Fake("Hel")
    fake.finish = finish
    async with serving(fake) as client:
        assert (await client.post(CHAT, json=HELLO)).json()["choices"][0]["finish_reason"] == reason
        streamed = events((await client.post(CHAT, json={**HELLO, "stream": True})).text)
    assert streamed[-2]["choices"][0]["finish_reason"] == reason
