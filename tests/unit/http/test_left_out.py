"""Requests of real clients: what they add is left out and named; what they send back of a conversation is read."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from winnow_engine.core import Sampling
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import ToolCall
from winnow_lsp.http import messages, requests, responses
from winnow_lsp.http.fields import ApiError
from winnow_lsp.http.requests import ChatRequest

from .fake import MODEL, Fake, serving

USER = {"role": "user", "content": "Hello?"}
FUNCTION = {"name": "f", "parameters": {"type": "object"}}
TOOL = {"type": "function", "function": FUNCTION}
SCHEMA = {"type": "object"}


def read(api: str, fields: Mapping[str, Any]) -> ChatRequest:
    readers = {"chat": requests, "responses": responses, "messages": messages}
    basis = {"responses": {"input": "Hello?"}, "chat": {"messages": [USER]}}
    document = basis.get(api, {"messages": [USER], "max_tokens": 9}) | fields
    return readers[api].read_request(json.dumps(document).encode(), MODEL)


LEFT_OUT: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("chat", {"frobnicate": 1, "presence_penalty": 0.5, "top_k": 5}, ("frobnicate", "presence_penalty", "top_k")),
    ("chat", {"chat_template_kwargs": {"date": "today", "thinking": True}}, ("date",)),
    ("chat", {"tools": [TOOL, {"type": "custom", "custom": {"name": "g"}}], "web_search_options": {"a": 1}},
     ("tools.custom", "web_search_options")),
    ("chat", {"messages": [{**USER, "frobnicate": 1}]}, ("frobnicate",)),
    ("responses", {"client_metadata": {"run": "1"}, "background": True}, ("background", "client_metadata")),
    ("responses", {"tools": [{"type": "web_search", "external_web_access": False}, {"type": "custom", "name": "g"}]},
     ("tools.custom", "tools.web_search")),
    ("responses", {"input": [USER, {"type": "web_search_call", "id": "w", "action": {}}]}, ("input.web_search_call",)),
    ("messages", {"top_k": 5, "mcp_servers": [1], "container": "c"}, ("container", "mcp_servers", "top_k")),
    ("messages", {"tools": [{"type": "bash_20250124", "name": "bash"}]}, ("tools.bash_20250124",)),
    ("messages", {"messages": [USER, {"role": "assistant", "content": [
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}]}, USER]},
     ("server_tool_use", "web_search_tool_result")),
    ("chat", {"max_tokens": 9.0, "seed": 2**70, "temperature": 0}, ()),
    ("chat", {"max_tokens": -1, "seed": -1, "stop": [""], "top_p": 0}, ()),
]  # fmt: skip


@pytest.mark.parametrize(("api", "fields", "names"), LEFT_OUT)
def test_what_does_not_change_the_answers_meaning_is_left_out_and_named(
    api: str, fields: dict[str, Any], names: tuple[str, ...]
) -> None:
    assert read(api, fields).ignored == names


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
def test_the_context_alone_limits_an_answer_of_minus_one(api: str) -> None:
    field = "max_output_tokens" if api == "responses" else "max_tokens"
    asked = read(api, {field: -1, "thinking_token_budget": -1}).asked
    assert (asked.limited, asked.sampling.max_tokens) == (True, 2**31 - 1)
    assert asked.sampling.thinking_tokens == Sampling().thinking_tokens


async def test_names_of_clients_are_safe_in_the_header() -> None:
    async with serving(Fake("a")) as client:
        fields = {"a\r\nb: é": 1, "x" * 9999: 1, **{f"f{n}": 1 for n in range(99)}}
        answer = await client.post("/v1/chat/completions", json={"messages": [USER], **fields})
    assert answer.status_code == 200
    assert answer.headers["x-winnow-ignored"].startswith("a??b:??, f0, ")
    assert len(answer.headers["x-winnow-ignored"]) < 3000


CALL = {"id": "1", "function": {"name": "f", "arguments": '{"a": '}}
RESULT = {"role": "tool", "tool_call_id": "1", "content": None}
CUT = Message("assistant", "", (ToolCall("1", "f", '{"arguments": "{\\"a\\": "}'),))
OUTPUT = {"type": "function_call_output", "call_id": "1", "output": None}
EMPTY, NO = (Message("assistant", ""),), (Message("assistant", "No."),)
TURNS: list[tuple[str, list[Any], tuple[Message, ...]]] = [
    ("chat", [{"role": "assistant", "content": None}], EMPTY),
    ("chat", [{"role": "assistant"}], EMPTY),
    ("chat", [{"role": "assistant", "content": []}], EMPTY),
    ("chat", [{"role": "assistant", "content": None, "reasoning_content": "Hm.", "tool_calls": []}], EMPTY),
    ("chat", [{"role": "assistant", "content": None, "refusal": "No."}], NO),
    ("chat", [{"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}], NO),
    ("chat", [{"role": "assistant", "tool_calls": [CALL]}, RESULT], (CUT, Message("tool", "", call_id="1"))),
    ("chat", [{"role": "assistant", "tool_calls": [{"id": "1", "type": "custom", "custom": {"name": "g", "input": "x"}}]
     }], (Message("assistant", "", (ToolCall("1", "g", '{"input": "x"}'),)),)),
    ("responses", [{"role": "assistant", "content": None}], EMPTY),
    ("responses", [{"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}], NO),
    ("responses", [{"type": "function_call", "call_id": "1", "name": "f", "arguments": '{"a": '}, OUTPUT],
     (CUT, Message("tool", "", call_id="1"))),
    ("responses", [{"type": "custom_tool_call", "call_id": "1", "name": "g", "input": "x"}],
     (Message("assistant", "", (ToolCall("1", "g", '{"input": "x"}'),)),)),
    ("messages", [{"role": "assistant", "content": []}], EMPTY),
    ("messages", [{"role": "assistant", "content": None}], EMPTY),
    ("messages", [{"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm.", "signature": ""}]}], EMPTY),
]  # fmt: skip


@pytest.mark.parametrize(("api", "turns", "expected"), TURNS)
def test_an_empty_turn_or_one_cut_off_is_read(api: str, turns: list[Any], expected: tuple[Message, ...]) -> None:
    name = "input" if api == "responses" else "messages"
    hello = Message("user", "Hello?")
    assert read(api, {name: [USER, *turns, USER]}).asked.messages == (hello, *expected, hello)


def offered(request: ChatRequest) -> list[str]:
    return [one["function"]["name"] for one in request.asked.tools.definitions]


LATER = {"name": "later", "input_schema": SCHEMA, "defer_loading": True}
SEARCH = {"name": "find_tool", "input_schema": SCHEMA}
FOUND = [
    USER,
    {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "find_tool", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": [
        {"type": "tool_reference", "tool_name": "later"}]}]},
]  # fmt: skip


def test_a_deferred_tool_is_offered_once_a_result_names_it() -> None:
    assert offered(read("messages", {"tools": [SEARCH, LATER]})) == ["find_tool"]
    found = read("messages", {"tools": [SEARCH, LATER], "messages": FOUND})
    assert (offered(found), found.asked.messages[-1].content) == (
        ["find_tool", "later"], "The tool later can be called now.",
    )  # fmt: skip
    hosted = {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"}
    assert offered(read("messages", {"tools": [hosted, SEARCH, LATER]})) == ["find_tool", "later"]
    assert offered(read("messages", {"tools": [LATER]})) == ["later"]
    assert offered(read("messages", {"tools": [SEARCH, LATER | {"name": {}}]})) == ["find_tool"]
    assert offered(read("responses", {"tools": [{"type": "function", **FUNCTION, "defer_loading": True}]})) == ["f"]


def test_a_functions_fields_stay_in_their_order() -> None:
    function = {"strict": True, "name": "f", "parameters": SCHEMA, "description": "F."}
    [found] = read("responses", {"tools": [{"type": "function", **function}]}).asked.tools.definitions
    assert json.dumps(found["function"]) == json.dumps(function)


def test_the_functions_of_a_namespace_are_offered_and_called_within_it() -> None:
    find = {"type": "function", "name": "find", "description": "F.", "parameters": SCHEMA}
    tools = [{"type": "namespace", "name": "mcp__w", "description": "D.", "tools": [find, {"type": "custom"}]}]
    call = {"type": "function_call", "call_id": "c", "namespace": "mcp__w", "name": "find", "arguments": "{}"}
    asked = read("responses", {"tools": tools, "input": [USER, call], "tool_choice": {
        "type": "function", "name": "find", "namespace": "mcp__w"}})  # fmt: skip
    (tool,) = asked.asked.tools.definitions
    assert (tool["function"]["name"], tool["function"]["description"]) == ("mcp__w__find", "D.\n\nF.")
    assert asked.asked.messages[1].calls == (ToolCall("c", "mcp__w__find", "{}"),)
    assert asked.namespaces == {"mcp__w__find": ("mcp__w", "find")}
    assert asked.ignored == ("tools[0].tools.custom",)


IMAGES: list[tuple[str, Any]] = [
    ("chat", {"type": "image_url", "image_url": {"url": "data:,"}}),
    ("chat", {"type": "file", "file": {}}),
    ("responses", {"type": "input_image", "image_url": "data:,"}),
    ("messages", {"type": "image", "source": {}}),
    ("messages", {"type": "document", "source": {}}),
]


@pytest.mark.parametrize(("api", "part"), IMAGES)
def test_images_and_documents_are_refused_in_plain_words(api: str, part: Any) -> None:
    name = "input" if api == "responses" else "messages"
    with pytest.raises(ApiError, match="only text is read here, no images") as raised:
        read(api, {name: [{"role": "user", "content": [part]}]})
    assert (raised.value.status, raised.value.code) == (400, "unsupported_value")


CODEX = {
    "model": "m", "stream": True, "tool_choice": "auto", "parallel_tool_calls": True, "reasoning": {"summary": "auto"},
    "store": False, "include": ["reasoning.encrypted_content"], "prompt_cache_key": "u", "client_metadata": {"s": "1"},
    "input": [
        {"type": "message", "id": "msg_1", "role": "developer", "content": [{"type": "input_text", "text": "You…"}]},
        {"type": "message", "id": "msg_2", "role": "user", "content": [{"type": "input_text", "text": "Where?"}]},
    ],
    "tools": [
        {"type": "function", "name": "exec_command", "description": "Runs…", "strict": False, "parameters": SCHEMA},
        {"type": "namespace", "name": "multi_agent_v1", "description": "Tools…", "tools": [
            {"type": "function", "name": "close_agent", "description": "C…", "strict": False, "parameters": SCHEMA}]},
        {"type": "web_search", "external_web_access": False},
    ],
}  # fmt: skip
CACHED = {"cache_control": {"type": "ephemeral"}}
CLAUDE_CODE = {
    "model": "claude-opus-5", "max_tokens": 128_000, "stream": True, "metadata": {"user_id": "u"},
    "thinking": {"type": "adaptive", "display": "omitted"}, "output_config": {"effort": "high"},
    "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
    "system": [{"type": "text", "text": "x-anthropic-billing-header: …"}, {"type": "text", "text": "You…", **CACHED}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Where is area?"}]},
        {"role": "system", "content": [{"type": "text", "text": "# Environment…", **CACHED}]},
    ],
    "tools": [{"name": "Agent", "description": "Launch…", "input_schema": SCHEMA}, LATER],
}  # fmt: skip
AGENTS = [
    ("/v1/responses", CODEX, "client_metadata, prompt_cache_key, summary, tools.web_search"),
    ("/v1/messages?beta=true", CLAUDE_CODE, "cache_control, context_management, display, effort, metadata"),
]


@pytest.mark.parametrize(("path", "body", "left_out"), AGENTS)
async def test_the_first_request_of_an_agent_is_answered(path: str, body: dict[str, Any], left_out: str) -> None:
    """As Codex 0.171 and Claude Code 2.1.332 sent it, shortened."""
    async with serving(Fake("Hello")) as client:
        answer = await client.post(path, json=body)
    assert (answer.status_code, answer.headers["x-winnow-ignored"]) == (200, left_out)
    assert "Hello" in answer.text
