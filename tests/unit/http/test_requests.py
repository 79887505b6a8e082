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
    [
        ("auto", Tools((TOOL,))),
        (None, Tools((TOOL,))),
        ("none", NO_TOOLS),
        ("required", Tools((TOOL,), required=True)),
        (TOOL, Tools((TOOL,), required=True, only="f")),
    ],
)
def test_the_choice_of_a_tool(choice: Any, tools: Tools) -> None:
    assert read(tools=[TOOL], tool_choice=choice).asked.tools == tools


REFUSED: list[tuple[dict[str, Any], str, int]] = [
    ({"n": 2}, "n", 400),
    ({"tool_choice": "required"}, "tool_choice", 400),
    ({"tool_choice": TOOL}, "tool_choice", 400),
    ({"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "g"}}}, "tool_choice", 400),
    ({"tools": [TOOL], "tool_choice": "sometimes"}, "tool_choice", 400),
    ({"tools": {}}, "tools", 400),
    ({"tools": ["f"]}, "tools[0]", 400),
    ({"tools": [{"type": "function", "function": {}}]}, "tools[0].function.name", 400),
    ({"tools": [{"type": "function", "function": {"name": "<|im_end|>"}}]}, "tools[0].function.name", 400),
    (
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": []}}]},
        "tools[0].function.parameters",
        400,
    ),
    ({"functions": [TOOL["function"]]}, "functions", 400),
    ({"parallel_tool_calls": "no"}, "parallel_tool_calls", 400),
    ({"messages": [*HELLO, {**CALLED, "tool_calls": [{**CALL, "id": ""}]}]}, "messages[1].tool_calls[0].id", 400),
    ({"messages": [*HELLO, {**CALLED, "tool_calls": CALL}]}, "messages[1].tool_calls", 400),
    ({"messages": [*HELLO, CALLED, {**RESULT, "tool_call_id": "2"}]}, "messages[2].tool_call_id", 400),
    ({"messages": [*HELLO, RESULT, CALLED]}, "messages[1].tool_call_id", 400),
    ({"response_format": "json"}, "response_format", 400),
    ({"response_format": {"type": ["json_object"]}}, "response_format.type", 400),
    ({"response_format": {"type": "json_schema"}}, "response_format.json_schema.schema", 400),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {}, "name": 5}}},
        "response_format.json_schema.name",
        400,
    ),
    (
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {"enum": ["x" * 300_000]}}}},
        "response_format.json_schema.schema",
        400,
    ),
    ({"logprobs": True}, "logprobs", 400),
    ({"logit_bias": {"5": 1}}, "logit_bias", 400),
    ({"model": "gpt-5"}, "model", 404),
    ({"model": ["m"]}, "model", 404),
    ({"messages": []}, "messages", 400),
    ({"messages": "Hello"}, "messages", 400),
    ({"messages": [{"role": "assistant", "content": "a"}]}, "messages", 400),
    ({"messages": [{"role": "user", "content": "  "}]}, "messages", 400),
    ({"messages": ["Hello"]}, "messages[0]", 400),
    ({"messages": [*HELLO, {"role": "tool", "content": "a"}]}, "messages[1].tool_call_id", 400),
    ({"messages": [{"role": ["user"], "content": "a"}]}, "messages[0].role", 400),
    ({"messages": [{"role": "user", "content": None}]}, "messages", 400),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content", 400),
    ({"messages": [*HELLO, {"role": "assistant", "content": "", "tool_calls": [1]}]}, "messages[1].tool_calls[0]", 400),
    ({"max_tokens": 0}, "max_tokens", 400),
    ({"max_tokens": 1.5}, "max_tokens", 400),
    ({"max_tokens": True}, "max_tokens", 400),
    ({"temperature": -1}, "temperature", 400),
    ({"temperature": float("nan")}, "temperature", 400),
    ({"temperature": 10**400}, "temperature", 400),
    ({"temperature": "hot"}, "temperature", 400),
    ({"top_p": -1}, "top_p", 400),
    ({"messages": [{**HELLO[0], "images": ["iVBOR"]}]}, "messages[0].images", 400),
    ({"continue_final_message": True}, "continue_final_message", 400),
    ({"stop": ["x"] * 99}, "stop", 400),
    ({"stop": 5}, "stop", 400),
    ({"stream": "yes"}, "stream", 400),
    ({"stream": True, "stream_options": []}, "stream_options", 400),
]


@pytest.mark.parametrize(("fields", "param", "status"), REFUSED, ids=[str(fields)[:40] for fields, _, _ in REFUSED])
def test_what_cannot_be_done_is_refused_by_name(fields: dict[str, Any], param: str, status: int) -> None:
    with pytest.raises(ApiError) as raised:
        read(**fields)
    assert (raised.value.status, raised.value.param) == (status, param)
    assert raised.value.document["error"]["type"] == "invalid_request_error"


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"messages": "Hello"}, "messages must be an array"),
        ({"messages": []}, "no user message contains text"),
        ({"tool_choice": "required"}, "but tools does not have one that could be called"),
        ({"temperature": "hot"}, "temperature must be a number"),
    ],
)
def test_a_refusal_says_what_is_needed(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError, match=message):
        read(**fields)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"a"', b"\xff", b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    with pytest.raises(ApiError, match="the body is not"):
        read_request(body, MODEL)
