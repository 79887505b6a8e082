import json
from typing import Any

import pytest

from winnow_engine.core import Sampling
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import NO_TOOLS, ToolCall, Tools
from winnow_lsp.http.fields import ApiError
from winnow_lsp.http.requests import read_request

from .fake import MODEL

HELLO = [{"role": "user", "content": "Hello?"}]


def read(**fields: Any):
    return read_request(json.dumps({"messages": HELLO, **fields}).encode(), MODEL)


def test_what_is_asked_is_read_and_the_rest_has_its_defaults() -> None:
    plain = read()
    assert plain.asked.messages == (Message("user", "Hello?"),)
    assert (plain.asked.limited, plain.stream, plain.include_usage) == (False, False, False)
    assert plain.asked.sampling.temperature == 0
    full = read(
        model="m", max_completion_tokens=9, temperature=1, top_p=0.5, seed=3, stop="END", stream=True,
        stream_options={"include_usage": True}, n=1, tools=[], frequency_penalty=0, user="me", logit_bias=None,
    )  # fmt: skip
    assert (full.asked.limited, full.stream, full.include_usage) == (True, True, True)
    assert full.asked.sampling == Sampling(1, 0.5, 3, 9, ("END",))


TOOL = {"type": "function", "function": {"name": "f"}}
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
CALLED = {"role": "assistant", "content": None, "tool_calls": [CALL], "refusal": None, "audio": None}
RESULT = {"role": "tool", "tool_call_id": "1", "content": "a", "name": "f"}


def test_tools_calls_and_results_are_read() -> None:
    described = {**TOOL, "function": {"name": "f", "description": "F.", "parameters": {"type": "object"}}}
    asked = read(tools=[described], messages=[*HELLO, CALLED, RESULT], parallel_tool_calls=False).asked
    assert asked.tools == Tools((described,), parallel=False)
    assert asked.messages[1:] == (
        Message("assistant", "", (ToolCall("1", "f", '{"a": 1}'),)),
        Message("tool", "a", call_id="1"),
    )
    bare = {**CALL, "function": {"name": "f", "arguments": ""}}
    assert read(messages=[*HELLO, {**CALLED, "tool_calls": [bare]}]).asked.messages[1].calls[0].arguments == "{}"


@pytest.mark.parametrize(
    ("choice", "tools"),
    [("auto", Tools((TOOL,))), (None, Tools((TOOL,))), ("none", NO_TOOLS), ("required", Tools((TOOL,), required=True)),
     (TOOL, Tools((TOOL,), required=True, only="f"))],
)  # fmt: skip
def test_the_choice_of_a_tool(choice: Any, tools: Tools) -> None:
    assert read(tools=[TOOL], tool_choice=choice).asked.tools == tools


def schema(**said: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": said}}


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"n": 2}, "n"),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tool_choice": TOOL}, "tool_choice"),
    ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "g"}}}, "tool_choice"),
    ({"tools": [TOOL], "tool_choice": "sometimes"}, "tool_choice"),
    ({"tools": {}}, "tools"),
    ({"tools": ["f"]}, "tools[0]"),
    ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name"),
    ({"tools": [{"type": "function", "function": {"name": "<|im_end|>"}}]}, "tools[0].function.name"),
    ({"tools": [{"type": "function", "function": {"name": "f", "parameters": []}}]}, "tools[0].function.parameters"),
    ({"functions": [TOOL["function"]]}, "functions"),
    ({"parallel_tool_calls": "no"}, "parallel_tool_calls"),
    ({"messages": [*HELLO, {**CALLED, "tool_calls": [{**CALL, "id": ""}]}]}, "messages[1].tool_calls[0].id"),
    ({"messages": [*HELLO, {**CALLED, "tool_calls": CALL}]}, "messages[1].tool_calls"),
    ({"messages": [*HELLO, CALLED, {**RESULT, "tool_call_id": "2"}]}, "messages[2].tool_call_id"),
    ({"messages": [*HELLO, RESULT, CALLED]}, "messages[1].tool_call_id"),
    ({"response_format": "json"}, "response_format"),
    ({"response_format": {"type": ["json_object"]}}, "response_format.type"),
    ({"response_format": {"type": "json_schema"}}, "response_format.json_schema.schema"),
    (schema(schema={}, name=5), "response_format.json_schema.name"),
    (schema(schema={"enum": ["x" * 300_000]}), "response_format.json_schema.schema"),
    ({"logprobs": True}, "logprobs"),
    ({"logit_bias": {"5": 1}}, "logit_bias"),
    ({"model": "gpt-5"}, "model"),
    ({"model": ["m"]}, "model"),
    ({"messages": []}, "messages"),
    ({"messages": "Hello"}, "messages"),
    ({"messages": [{"role": "assistant", "content": "a"}]}, "messages"),
    ({"messages": [{"role": "user", "content": "  "}]}, "messages"),
    ({"messages": ["Hello"]}, "messages[0]"),
    ({"messages": [*HELLO, {"role": "tool", "content": "a"}]}, "messages[1].tool_call_id"),
    ({"messages": [{"role": ["user"], "content": "a"}]}, "messages[0].role"),
    ({"messages": [{"role": "user", "content": None}]}, "messages"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content"),
    ({"messages": [*HELLO, {"role": "assistant", "content": "", "tool_calls": [1]}]}, "messages[1].tool_calls[0]"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": 1.5}, "max_tokens"),
    ({"max_tokens": True}, "max_tokens"),
    ({"temperature": -1}, "temperature"),
    ({"temperature": 2.1}, "temperature"),
    ({"temperature": float("nan")}, "temperature"),
    ({"temperature": 10**400}, "temperature"),
    ({"temperature": "hot"}, "temperature"),
    ({"top_p": -1}, "top_p"),
    ({"messages": [{**HELLO[0], "images": ["iVBOR"]}]}, "messages[0].images"),
    ({"continue_final_message": True}, "continue_final_message"),
    ({"stop": ["x"] * 99}, "stop"),
    ({"stop": 5}, "stop"),
    ({"stream": "yes"}, "stream"),
    ({"stream": True, "stream_options": []}, "stream_options"),
]


@pytest.mark.parametrize(("fields", "param"), REFUSED, ids=[str(fields)[:40] for fields, _ in REFUSED])
def test_what_cannot_be_done_is_refused_by_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(ApiError) as raised:
        read(**fields)
    assert (raised.value.status, raised.value.param) == (404 if param == "model" else 400, param)
    assert raised.value.document["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"messages": "Hello"}, "messages must be an array"),
        ({"messages": None}, "messages is missing"),
        ({"messages": []}, "no user message contains text"),
        ({"messages": [RESULT]}, r"messages\[0\].tool_call_id names no call of a message before it"),
        ({"tool_choice": "required"}, "but tools does not have one that could be called"),
        ({"temperature": "hot"}, "temperature must be a number"),
        ({"model": "gpt-5"}, "no model 'gpt-5' here, only 'm': name that, or serve with --model-alias"),
    ],
)
def test_a_refusal_says_what_is_needed(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError, match=message):
        read(**fields)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"a"', b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(ApiError, match="the body is not"):
        read_request(body, MODEL)
