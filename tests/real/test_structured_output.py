"""Structured output of `winnow serve --http` with real weights: whatever the schema, the answer is JSON of it.

Also as the makers' own packages ask for it.
"""

import json
from typing import Any, Literal

import anthropic
import jsonschema
import openai
import pytest
from pydantic import BaseModel
from schemas import SCHEMAS

from .served import MODEL, post, serving_fixture
from .test_http_tools import SMALL

pytestmark = pytest.mark.real_weights

ASKED: list[Any] = [{"role": "user", "content": "Make up an example and answer in JSON."}]


class Step(BaseModel):
    title: str
    minutes: int
    kind: Literal["cut", "cook", "serve"]


class Recipe(BaseModel):
    name: str
    first: Step
    last: Step | None


url = serving_fixture("--target", MODEL)


url_of_qwen = serving_fixture("--target", SMALL)  # of a model that has tools


def format_of(schema: dict[str, Any]) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "example", "schema": schema}}}


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_answer_is_json_of_its_schema_streamed_or_not(url: str, name: str) -> None:
    schema, temperature = SCHEMAS[name], {"temperature": 0.7, "seed": 3}
    (choice,) = post(url, ASKED, max_tokens=400, **format_of(schema))["choices"]
    with openai.OpenAI(base_url=f"{url}/v1", api_key="-") as client:
        asked: Any = {"model": client.models.list().data[0].id, "messages": ASKED, "max_tokens": 400}
        chunks = list(client.chat.completions.create(**asked, **format_of(schema), **temperature, stream=True))
    streamed = "".join(chunk.choices[0].delta.content or "" for chunk in chunks), chunks[-1].choices[0].finish_reason
    for text, finish in ((choice["message"]["content"], choice["finish_reason"]), streamed):
        assert finish == "stop" or name in ("any object", "no type")  # which bound no length
        if finish == "stop":
            jsonschema.validate(json.loads(text), schema)


def test_an_answer_that_is_too_long_says_so(url: str) -> None:
    (choice,) = post(url, ASKED, max_tokens=5, **format_of(SCHEMAS["nested"]))["choices"]
    assert choice["finish_reason"] == "length"
    assert choice["message"]["content"].startswith("{")
    (choice,) = post(url, ASKED, max_tokens=300, response_format={"type": "json_object"})["choices"]
    assert choice["finish_reason"] == "length" or isinstance(json.loads(choice["message"]["content"]), dict)


def test_the_makers_packages_parse_what_they_asked_for(url: str, url_of_qwen: str) -> None:
    with (
        openai.OpenAI(base_url=f"{url}/v1", api_key="-") as client,
        anthropic.Anthropic(base_url=url, api_key="-") as other,
    ):
        asked: Any = {"model": client.models.list().data[0].id}
        chat = client.chat.completions.parse(**asked, messages=ASKED, response_format=Recipe, max_tokens=400)
        assert isinstance(chat.choices[0].message.parsed, Recipe)
        response = client.responses.parse(**asked, input=ASKED, text_format=Recipe, max_output_tokens=400)
        assert isinstance(response.output_parsed, Recipe)
        for messages in (other.messages, other.beta.messages):
            message = messages.parse(**asked, messages=ASKED, output_format=Recipe, max_tokens=400)
            assert isinstance(message.parsed_output, Recipe)
    needed: Any = {"tools": [openai.pydantic_function_tool(Step)], "tool_choice": "required", "max_tokens": 400}
    with openai.OpenAI(base_url=f"{url_of_qwen}/v1", api_key="-") as client:
        called = client.chat.completions.parse(model=client.models.list().data[0].id, messages=ASKED, **needed)
    (call,) = called.choices[0].message.tool_calls or ()
    assert isinstance(call.function.parsed_arguments, Step)
