"""Thoughts over HTTP: apart from the answer in each API, and never part of a prompt."""

import json
from typing import Any

import anthropic
import openai
import pytest

from winnow_engine.chat.turn import ThoughtDelta
from winnow_engine.core import Sampling
from winnow_lsp.http import messages, requests, responses
from winnow_lsp.http.conversation import read_messages
from winnow_lsp.http.fields import ApiError

from .fake import CHAT, HELLO, MODEL, Fake, events, serving

THINKER = (ThoughtDelta("Hm, "), ThoughtDelta("so."), "Ye", "s.")


def read(read_request: Any = requests.read_request, **fields: Any) -> Sampling:
    return read_request(json.dumps(HELLO | fields).encode(), MODEL).asked.sampling


async def test_a_chat_completion_has_its_thought_in_a_field_of_its_own() -> None:
    async with serving(Fake(*THINKER)) as client:
        whole = (await client.post(CHAT, json=HELLO)).json()
        message = whole["choices"][0]["message"]
        assert (message["content"], message["reasoning_content"]) == ("Yes.", "Hm, so.")
        assert whole["usage"]["completion_tokens_details"] == {"reasoning_tokens": 2}
        streamed = events((await client.post(CHAT, json={**HELLO, "stream": True})).text)
        deltas = [one["choices"][0]["delta"] for one in streamed[:-1]]
        assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "Hm, so."
        assert "".join(delta.get("content", "") for delta in deltas) == "Yes."


async def test_openais_and_anthropics_packages_read_answers_with_thoughts() -> None:
    async with serving(Fake(*THINKER)) as client:
        url = str(client.base_url)
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as one:
            response = await one.responses.create(model="m", input="Hi")
            assert response.output_text == "Yes."
            assert response.usage is not None
            assert response.usage.output_tokens_details.reasoning_tokens == 2
            async with one.responses.stream(model="m", input="Hi") as stream:
                kinds = [event.type async for event in stream]
                streamed_response = await stream.get_final_response()
        async with anthropic.AsyncAnthropic(base_url=url, api_key="none") as other:
            asked: Any = {"model": "m", "max_tokens": 9, "messages": HELLO["messages"]}
            whole = await other.messages.create(**asked)
            async with other.messages.stream(**asked) as streamed:
                final = await streamed.get_final_message()
        for answer in (response, streamed_response):
            thought, said = answer.output
            assert (thought.type, thought.content[0].text, thought.status) == ("reasoning", "Hm, so.", "completed")
            assert (said.type, answer.output_text) == ("message", "Yes.")
        assert kinds[2:9] == [
            "response.output_item.added", "response.content_part.added", "response.reasoning_text.delta",
            "response.reasoning_text.delta", "response.reasoning_text.done", "response.content_part.done",
            "response.output_item.done",
        ]  # fmt: skip
        for answer in (whole, final):
            thought, text = answer.content
            assert (thought.type, text.type) == ("thinking", "text")
            assert (thought.thinking, text.text) == ("Hm, so.", "Yes.")


@pytest.mark.parametrize(
    ("fields", "thinking"),
    [
        ({}, "auto"),
        ({"reasoning_effort": "none"}, "off"),
        ({"reasoning_effort": "minimal"}, "off"),
        ({"reasoning_effort": "high"}, "on"),
        ({"chat_template_kwargs": {"enable_thinking": False}}, "off"),
        ({"chat_template_kwargs": {"thinking": True}, "reasoning_effort": "none"}, "on"),
    ],
)
def test_a_chat_completion_says_whether_to_think(fields: dict[str, Any], thinking: str) -> None:
    assert read(**fields).thinking == thinking
    assert read(**fields, thinking_token_budget=7).thinking_tokens == 7


@pytest.mark.parametrize(
    "fields",
    [{"chat_template_kwargs": {"enable_thinking": "no"}}, {"reasoning_effort": 3}, {"thinking_token_budget": 0}],
)
def test_what_is_wrong_with_it_is_named(fields: dict[str, Any]) -> None:
    with pytest.raises(ApiError, match=next(iter(fields))):
        read(**fields)


def test_the_other_apis_say_it_in_their_own_words() -> None:
    body = json.dumps({"input": "Hi", "reasoning": {"effort": "low"}}).encode()
    assert responses.read_request(body, MODEL).asked.sampling.thinking == "on"
    for wanted, thinking in (("enabled", "on"), ("adaptive", "auto"), ("disabled", "off")):
        found = read(messages.read_request, max_tokens=5, thinking={"type": wanted, "budget_tokens": 50})
        assert (found.thinking, found.thinking_tokens) == (thinking, 50)
    with pytest.raises(ApiError, match=r"thinking\.type"):
        read(messages.read_request, max_tokens=5, thinking={"type": "deep"})


def test_a_thought_that_comes_back_is_not_part_of_the_prompt() -> None:
    turn = {"role": "assistant", "content": "<think>secret</think>\n\nYes.", "reasoning_content": "secret"}
    ignored = set[str]()
    found = read_messages({"messages": [*HELLO["messages"], turn, *HELLO["messages"]]}, ignored)
    assert [message.content for message in found] == ["Hello?", "Yes.", "Hello?"]
    assert "secret" not in repr(found)
    assert not ignored
