"""What the newer APIs ask is read as the same request as a chat completion; what cannot be done is refused by name."""

import asyncio
import json
from contextlib import suppress
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import ToolCall, Tools
from winnow_lsp.http import messages, requests, responses
from winnow_lsp.http.app import app
from winnow_lsp.http.fields import ApiError
from winnow_lsp.http.guard import Guard
from winnow_lsp.http.requests import ChatRequest

from .fake import MODEL, Fake

HELLO: list[Any] = [{"role": "user", "content": "Hello?"}]
FUNCTION = {"name": "f", "description": "F.", "parameters": {"type": "object"}}
TOOL = {"type": "function", "function": FUNCTION}
CALL = ToolCall("1", "f", '{"a": 1}')
SAID = (
    Message("system", "Be brief."),
    Message("user", "Hello?"),
    Message("assistant", "I call.", (CALL, ToolCall("2", "f", "{}"))),
    Message("tool", "one", call_id="1"),
    Message("tool", "Error: two", call_id="2"),
    Message("user", "And?"),
)


def message(**fields: Any) -> ChatRequest:
    document = {"model": "m", "max_tokens": 9, "messages": HELLO, **fields}
    return messages.read_request(json.dumps(document).encode(), MODEL)


def response(**fields: Any) -> ChatRequest:
    return responses.read_request(json.dumps({"input": "Hello?", **fields}).encode(), MODEL)


def test_a_conversation_of_messages_is_read() -> None:
    cached = {"cache_control": {"type": "ephemeral"}}
    found = message(
        system=[{"type": "text", "text": "Be brief.", **cached}],
        messages=[
            HELLO[0],
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "x"},
                {"type": "text", "text": "I call."},
                {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}},
                {"type": "tool_use", "id": "2", "name": "f", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "one"}]},
                {"type": "tool_result", "tool_use_id": "2", "content": "two", "is_error": True},
                {"type": "text", "text": "And?"},
            ]},
        ],
        tools=[{"name": "f", "description": "F.", "input_schema": {"type": "object"}, "strict": True, **cached}],
        tool_choice={"type": "tool", "name": "f", "disable_parallel_tool_use": True},
        temperature=0.5,
        stop_sequences=["END"],
    )  # fmt: skip
    assert found.asked.messages == SAID
    strict = {"type": "function", "function": {**FUNCTION, "strict": True}}
    assert found.asked.tools == Tools((strict,), required=True, only="f", parallel=False)
    sampling = found.asked.sampling
    assert (sampling.max_tokens, sampling.temperature, sampling.stop, found.asked.limited) == (9, 0.5, ("END",), True)
    assert found.ignored == ("cache_control",)


def test_a_conversation_of_items_is_read() -> None:
    found = response(
        instructions="Be brief.",
        input=[
            {"role": "user", "content": [{"type": "input_text", "text": "Hello?"}]},
            {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": None},
            {
                "type": "message", "id": "msg", "status": "completed", "role": "assistant",
                "content": [{"type": "output_text", "text": "I call.", "annotations": []}],
            },
            {"type": "function_call", "id": "a", "call_id": "1", "name": "f", "arguments": '{"a": 1}'},
            {"type": "function_call", "call_id": "2", "name": "f", "arguments": ""},
            {"type": "function_call_output", "call_id": "1", "output": "one"},
            {"type": "function_call_output", "call_id": "2", "output": [{"type": "input_text", "text": "Error: two"}]},
            {"type": "message", "role": "user", "content": "And?"},
        ],
        tools=[{"type": "function", "strict": None, "defer_loading": False, "output_schema": {"a": 1}, **FUNCTION}],
        tool_choice={"type": "function", "name": "f"},
        parallel_tool_calls=False,
        include=["reasoning.encrypted_content"],
        text={"format": {"type": "text"}, "verbosity": "low"},
    )  # fmt: skip
    assert found.asked.messages == SAID
    assert found.asked.tools == Tools((TOOL,), required=True, only="f", parallel=False)
    assert (found.asked.limited, found.ignored) == (False, ("output_schema", "verbosity"))


def test_where_no_tool_may_be_called_none_is_offered() -> None:
    assert message(tools=[{"name": "f"}], tool_choice={"type": "none"}).asked.tools == Tools()
    assert response(tools=[{"type": "function", **FUNCTION}], tool_choice="none").asked.tools == Tools()


def content(*blocks: Any, role: str = "user") -> dict[str, Any]:
    return {"messages": [*HELLO, {"role": role, "content": list(blocks)}, *HELLO]}


REFUSED_MESSAGES: list[tuple[dict[str, Any], str | None, int]] = [
    ({"output_config": {"format": {"type": "json_schema"}}}, "output_config.format.schema", 400),
    ({"output_format": {"type": "xml"}}, "output_format.type", 400),
    ({"max_tokens": None}, "max_tokens", 400),
    ({"max_tokens": 0}, "max_tokens", 400), ({"temperature": 1.1}, "temperature", 400),
    ({"model": "claude"}, "model", 404),
    ({"messages": [*HELLO, {"role": "assistant", "content": "Well,"}]}, "messages", 400),
    ({"messages": [{"role": "tool", "content": "a"}]}, "messages[0].role", 400),
    ({"messages": [{"role": "user", "content": 5}]}, "messages[0].content", 400),
    ({"messages": [{"role": "user", "content": [5]}]}, "messages[0].content[0]", 400),
    ({"system": [{"type": "image"}]}, "system[0]", 400),
    (content({"type": "image", "source": {}}), "messages[1].content[0]", 400),
    (content({"type": "text"}), "messages[1].content[0].text", 400),
    (content({"type": "tool_use"}), "messages[1].content[0]", 400),
    (content({"type": "tool_result", "tool_use_id": "9"}), "messages[1].content[0].tool_use_id", 400),
    (content({"type": "tool_result"}), "messages[1].content[0].tool_use_id", 400),
    (content({"type": "tool_use", "id": "1", "name": "f", "input": []}, role="assistant"),
     "messages[1].content[0].input", 400),
    (content({"type": "tool_use", "id": "1", "name": "<"}, role="assistant"), "messages[1].content[0].name", 400),
    ({"tools": [{"name": ""}]}, "tools[0].name", 400),
    ({"tool_choice": {"type": "any"}}, "tool_choice", 400),
    ({"tool_choice": {"type": ["any"]}}, "tool_choice.type", 400),
    ({"stop_sequences": [5]}, "stop_sequences", 400),
    ({"thread": {"type": "create"}}, "thread", 400),
]  # fmt: skip
REFUSED_RESPONSES: list[tuple[dict[str, Any], str | None, int]] = [
    ({"previous_response_id": "resp_1"}, "previous_response_id", 400),
    ({"conversation": "c"}, "conversation", 400),
    ({"prompt": {"id": "p"}}, "prompt", 400),
    ({"text": {"format": {"type": "json_schema", "schema": []}}}, "text.format.schema", 400),
    ({"text": {"format": "json"}}, "text.format", 400),
    ({"include": ["message.output_text.logprobs"]}, "include", 400),
    ({"top_logprobs": 2}, "top_logprobs", 400),
    ({"max_output_tokens": 0}, "max_output_tokens", 400),
    ({"model": "gpt-5"}, "model", 404),
    ({"input": ""}, "input", 400),
    ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0]", 400),
    ({"input": [5]}, "input[0]", 400),
    ({"input": [{"type": "compaction", "encrypted_content": "x"}]}, "input[0]", 400),
    ({"input": [{"role": "tool", "content": "a"}]}, "input[0].role", 400),
    ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input[0].content", 400),
    ({"input": [*HELLO, {"type": "function_call_output", "call_id": "1", "output": "a"}]}, "input[1].call_id", 400),
    ({"tools": [{"type": "function", "name": "f", "parameters": 5}]}, "tools[0].parameters", 400),
    ({"tool_choice": "required"}, "tool_choice", 400),
    ({"tool_choice": {"type": "allowed_tools"}}, "tool_choice", 400),
    ({"tool_choice": 5}, "tool_choice", 400),
]  # fmt: skip


REFUSED = [(message, *row) for row in REFUSED_MESSAGES] + [(response, *row) for row in REFUSED_RESPONSES]


@pytest.mark.parametrize(
    ("read", "fields", "param", "status"), REFUSED, ids=lambda value: getattr(value, "__name__", str(value)[:50])
)
def test_what_cannot_be_done_is_refused_by_name(read: Any, fields: dict[str, Any], param: str, status: int) -> None:
    with pytest.raises(ApiError, match="input" if param in ("conversation", "previous_response_id") else ".") as raised:
        read(**fields)
    assert (raised.value.status, raised.value.param) == (status, param)


READERS = (requests.read_request, responses.read_request, messages.read_request, messages.read_count)
WORDS = st.sampled_from(
    ["user", "assistant", "system", "tool", "text", "input_text", "tool_use", "tool_result", "function", "message",
     "function_call", "function_call_output", "reasoning", "auto", "any", "required", "none", "f", "1", "", "{}", "{",
     "\ud800"]
)  # fmt: skip
NAMES = st.sampled_from(
    ["type", "role", "content", "text", "id", "call_id", "tool_use_id", "name", "input", "arguments", "output",
     "function", "tool_calls", "tool_call_id", "input_schema", "parameters", "cache_control", "is_error"]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(
    ["messages", "input", "system", "instructions", "stop_sequences", "tools", "tool_choice", "stream", "max_tokens",
     "max_output_tokens", "temperature", "text", "include", "thinking", "output_config", "metadata", "store", "n",
     "stop", "seed", "model", "top_p", "role", "x", "\udfff"]
)  # fmt: skip


@given(st.dictionaries(FIELDS, VALUES, max_size=5), st.booleans())
@settings(max_examples=300, deadline=None)
def test_whatever_is_sent_is_read_or_refused(document: dict[str, Any], greets: bool) -> None:
    if greets:
        document = {"messages": HELLO, "input": "Hello?", "max_tokens": 9} | document
    for read in READERS:
        with suppress(ApiError):
            read(json.dumps(document).encode(), MODEL)


PATHS = ("/v1/chat/completions", "/v1/completions", "/v1/embeddings", "/v1/responses", "/v1/responses/input_tokens",
         "/v1/messages", "/v1/messages/count_tokens")  # fmt: skip


@given(st.dictionaries(FIELDS, VALUES, max_size=4) | st.binary(max_size=20), st.sampled_from(PATHS), st.booleans())
@settings(max_examples=200, deadline=None)
def test_no_body_is_answered_with_a_500(document: Any, path: str, greets: bool) -> None:
    if greets and isinstance(document, dict):
        document = document | {"input": "Hello?", "prompt": "Hi", "messages": HELLO, "max_tokens": 9}
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    application = app(lambda: Fake("a"), Guard(None))
    application.state.service = Fake("a")

    async def post() -> httpx.Response:
        transport = httpx.ASGITransport(application)  # raises what the application raises
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return await client.post(path, content=body, headers={"Content-Type": "application/json"})

    assert asyncio.run(post()).status_code in (200, 400, 404)


def test_what_nests_too_deeply_is_refused() -> None:
    deep = json.loads("[" * 200 + "]" * 200)
    for read in READERS:
        with pytest.raises(ApiError, match="levels deep"):
            read(json.dumps({"messages": HELLO, "input": "a", "metadata": deep}).encode(), MODEL)


@pytest.mark.parametrize("body", [b'{"\\udfff": 1}', b'{"a": "\xed\xa0\x80"}', b'{"messages": [{"role": "\\uD800"}]}'])
def test_half_a_character_is_refused(body: bytes) -> None:
    for read in READERS:
        with pytest.raises(ApiError, match="the body"):
            read(body, MODEL)
