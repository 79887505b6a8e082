"""`/v1/responses` and `/v1/messages` of `winnow serve --http` with real weights, over their makers' own packages."""

import json
from typing import Any

import anthropic
import httpx
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ..unit.http.test_dialects import FIELDS, NAMES, PATHS, VALUES
from .served import serving_fixture
from .test_http_tools import SMALL

pytestmark = pytest.mark.real_weights

QUESTION = "What is the weather in Paris?"
ABOUT = "Get the current weather of a city."
SCHEMAS = st.dictionaries(NAMES, VALUES, max_size=3)
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


url = serving_fixture("--target", SMALL, WINNOW_HTTP_TOKEN="secret")


def test_a_message_calls_a_tool_and_reads_its_result(url: str) -> None:
    tools: Any = [{"name": "get_weather", "description": ABOUT, "input_schema": SCHEMA}]
    with anthropic.Anthropic(base_url=url, api_key="secret") as client:
        asked: list[Any] = [{"role": "user", "content": QUESTION}]
        with client.messages.stream(model=SMALL, messages=asked, tools=tools, max_tokens=60) as stream:
            message = stream.get_final_message()
        (call,) = message.content
        assert (call.name, call.input, message.stop_reason) == ("get_weather", {"city": "Paris"}, "tool_use")
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "17 degrees"}
        asked += [{"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
        answer = client.messages.create(model=SMALL, messages=asked, max_tokens=30)
        counted = client.messages.count_tokens(model=SMALL, messages=asked)
    assert "17" in answer.content[0].text
    usage = answer.usage
    assert usage.input_tokens + usage.cache_read_input_tokens == counted.input_tokens


def test_three_apis_answer_alike(url: str) -> None:
    """Greedy, the same conversation is the same prompt."""
    asked: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is a list?"}]
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key="secret") as client,
        anthropic.Anthropic(base_url=url, auth_token="secret") as other,
    ):
        chat = client.chat.completions.create(model=SMALL, messages=asked, max_tokens=20)
        response = client.responses.create(
            model=SMALL, instructions="Be brief.", input="What is a list?", max_output_tokens=20
        )
        message = other.messages.create(model=SMALL, system="Be brief.", messages=asked[1:], max_tokens=20)
    said = chat.choices[0].message.content
    assert said
    assert (response.output_text, response.status) == (said, "incomplete")
    assert (message.content[0].text, message.stop_reason) == (said, "max_tokens")


def test_a_stream_that_is_closed_makes_room_for_the_next(url: str) -> None:
    story: Any = [{"role": "user", "content": "Write a long story."}]
    with anthropic.Anthropic(base_url=url, api_key="secret") as client:
        with client.messages.stream(model=SMALL, messages=story, max_tokens=20_000) as stream:
            next(iter(stream.text_stream))
        answer = client.messages.create(model=SMALL, messages=story, max_tokens=4, timeout=60)
    assert answer.usage.output_tokens == 4  # 20,000 tokens take ten minutes


@given(st.dictionaries(FIELDS, VALUES, max_size=3), st.sampled_from(PATHS), st.data())
@settings(max_examples=15, deadline=None)
def test_no_body_makes_the_models_fail(url: str, document: dict[str, Any], path: str, data: st.DataObject) -> None:
    """Whatever stands in the tools, results and texts of a request that is well-formed otherwise."""
    said = data.draw(st.lists(st.text(max_size=20), max_size=3))
    hello: list[Any] = [
        {"role": role, "content": text} for role, text in zip(("user", "assistant"), said, strict=False)
    ]
    hello.append({"role": "user", "content": "Hello?"})
    named = {"name": "f", "description": data.draw(st.text(max_size=9)), "parameters": data.draw(SCHEMAS)}
    if path.startswith("/v1/responses"):
        asked = {"input": hello, "max_output_tokens": 3, "tools": [{"type": "function", **named}]}
    elif path.startswith("/v1/messages"):
        tool = {"name": "f", "description": named["description"], "input_schema": named["parameters"]}
        asked = {"messages": hello, "max_tokens": 3, "tools": [tool]}
    else:
        asked = {"messages": hello, "max_tokens": 3, "tools": [{"type": "function", "function": named}]}
    headers = {"Authorization": "Bearer secret", "Content-Type": "application/json"}
    answer = httpx.post(f"{url}{path}", content=json.dumps(document | asked), headers=headers, timeout=60)
    assert answer.status_code in (200, 400, 404), answer.text
