"""The target on Ollama: prompt and answer fit the context that is set with each request, and nothing is cut."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from winnow_engine.core import Sampling
from winnow_engine.errors import BudgetError, TargetAddressError, TargetError, TargetProtocolError
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import AnswerFormat, CallDelta, ToolCall, Tools
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.remote.address import parse
from winnow_engine.targets.remote.target import HttpTarget

from ....ollama_server import DEFAULT_CONTEXT, serving
from ..hostile import Hostile, Talk

TOOLS = Tools(({"type": "function", "function": {"name": "find", "description": "", "parameters": {}}},))
CODE = "w " * 6000
LONG = [Message("system", "Rules apply."), Message("user", f"Code: {CODE}"), Message("user", "Question?")]
SHORT = [Message("user", "Question?")]


@pytest.fixture
def url() -> Iterator[str]:
    with serving() as url:
        yield url


def opened(url: str, model: str = "coder:7b", context: int | None = None) -> HttpTarget:
    return HttpTarget.open(parse(f"{url}/v1#{model}"), context)


def ask(target: HttpTarget, messages: list[Message], tools: Tools | None = None, **sampling: Any) -> Generation:
    prompt = target.chat_prompt(messages, tools or Tools())
    return target.generate(Request(prompt, Sampling(**{"max_tokens": 64, **sampling})))


def chats(url: str) -> list[dict[str, Any]]:
    return [document for _, path, _, document in httpx.get(f"{url}/log").json() if path == "/api/chat"]


def test_the_server_would_cut_a_long_prompt_without_a_word(url: str) -> None:
    """What the rest of this file is about happens to one who does not set the context."""
    messages = [{"role": m.role, "content": m.content} for m in LONG]
    events = httpx.post(f"{url}/api/chat", json={"model": "coder:7b", "messages": messages}).text.splitlines()
    said = "".join(json.loads(event)["message"]["content"] for event in events)
    assert said == f"context={DEFAULT_CONTEXT} Question? "


def test_a_long_prompt_arrives_whole(url: str) -> None:
    answer = ask(opened(url), LONG)
    assert answer.text == "context=8192 Rules Code: Question? "
    assert (answer.finish, answer.prompt_tokens, answer.decode_tokens) == ("eos", 6004, 4)


def test_the_context_grows_with_the_prompt_in_steps_and_does_not_shrink(url: str) -> None:
    target = opened(url)
    for code, context in ((10, 8192), (9000, 12_288), (10, 12_288), (20_000, 20_480 + 4096)):
        words = ask(target, [Message("user", "w " * code)], max_tokens=1000).text.split()
        assert words[0] == f"context={context}"
    again = opened(url)  # another process takes the context that the model is loaded with
    assert ask(again, SHORT).text.startswith("context=24576 ")


def test_a_prompt_with_more_tokens_than_estimated_is_refused_and_not_cut(hostile: Hostile) -> None:
    refused = {"error": "the input length exceeds the context length"}
    as_ollama(hostile, lambda talk: talk.json(refused, status=400))
    with pytest.raises(BudgetError, match="exceeds the context length"):
        ask(opened(hostile.url, "m"), SHORT)
    (sent,) = [talk.document for path, talk in hostile.seen if path == "/api/chat"]
    assert (sent["truncate"], sent["shift"]) == (False, False)


def as_ollama(hostile: Hostile, chat: Any) -> None:
    hostile.models = lambda talk: talk.json({"data": [{"id": "m"}]})
    hostile.pages = {
        "/api/version": lambda talk: talk.json({"version": "0.33.0"}),
        "/api/show": lambda talk: talk.json({}),
        "/api/chat": chat,
    }


def test_sampling_and_the_end_of_an_answer(url: str) -> None:
    target = opened(url)
    assert ask(target, LONG, max_tokens=2).finish == "length"
    ask(target, SHORT, temperature=0.5, top_p=0.9, seed=7, stop=("END",))
    greedy, sampled = (document["options"] for document in chats(url))
    assert greedy == {"num_ctx": 8192, "num_predict": 2, "temperature": 0.0}
    assert sampled == {
        "num_ctx": 8192, "num_predict": 64, "temperature": 0.5, "top_p": 0.9, "seed": 7, "stop": ["END"],
    }  # fmt: skip


def test_a_model_thinks_if_it_can_and_is_asked_to(url: str) -> None:
    answer = ask(opened(url, "thinker:8b"), SHORT, thinking="on")
    assert (answer.text, answer.thought and answer.thought.text) == ("context=8192 Question? ", "Hm.")
    assert ask(opened(url, "thinker:8b"), SHORT).thought is None
    assert ask(opened(url), SHORT, thinking="on").text == "context=8192 Question? "  # refused, and asked again without
    assert ["think" in document for document in chats(url)] == [True, True, True, False]


def test_calls_go_there_and_back(url: str) -> None:
    calls = list[CallDelta]()
    target = opened(url)
    messages = [
        Message("user", "Find it."),
        Message("assistant", "Looking.", (ToolCall("c1", "find", '{"a": 1}'), ToolCall("c2", "find", "no JSON"))),
        Message("tool", "Found.", call_id="c1"),
    ]
    request = Request(target.chat_prompt(messages, TOOLS), Sampling(max_tokens=64), on_call=calls.append)
    assert target.generate(request).finish == "eos"
    assert calls == [CallDelta(0, "call_1", "find", '{"a": 1}')]
    (sent,) = chats(url)
    assert [call["function"]["arguments"] for call in sent["messages"][1]["tool_calls"]] == [
        {"a": 1},
        {"arguments": "no JSON"},
    ]
    assert sent["messages"][2] == {"role": "tool", "content": "Found.", "tool_call_id": "c1", "tool_name": "find"}


def test_a_model_in_the_cloud_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(TargetAddressError, match="your code would go on"):
        opened(url, "huge:480b-cloud")
    assert chats(url) == []


ODD = (
    b"[]",
    b'"x"',
    b"{}",
    b"no JSON",
    b'{"done": false, "message": {"content": 5}}',
    b'{"done": false, "message": {"tool_calls": [{"function": {"name": "f", "arguments": {}}}]}}',
    b"",
)


@pytest.mark.parametrize("line", ODD)
def test_what_is_no_answer_has_a_name(hostile: Hostile, line: bytes) -> None:
    as_ollama(hostile, lambda talk: talk.stream(line + b"\n", content_type="application/x-ndjson"))
    with pytest.raises(TargetProtocolError):
        ask(opened(hostile.url, "m"), SHORT)


@pytest.mark.parametrize(
    ("lines", "finish", "says"),
    [
        (b'{"done": true, "done_reason": "unload", "message": {"content": "He"}}\n', "eos", "of its own: unload"),
        (b'{"done": false, "message": {"content": "He"}}\n', "length", "in the middle"),
    ],
)
def test_an_answer_with_an_odd_end_is_kept(hostile: Hostile, lines: bytes, finish: str, says: str) -> None:
    as_ollama(hostile, lambda talk: talk.stream(lines, content_type="application/x-ndjson"))
    answer = ask(opened(hostile.url, "m"), SHORT)
    assert (answer.text, answer.finish) == ("He", finish)
    assert says in answer.notices[0]


@pytest.mark.parametrize(("schema", "sent"), [(None, "json"), ({"type": "object"}, {"type": "object"})])
def test_a_format_goes_to_ollama_in_a_field_of_its_own(hostile: Hostile, schema: Any, sent: Any) -> None:
    as_ollama(hostile, lambda talk: talk.stream(b'{"done": true, "message": {"content": "{}"}}\n'))
    target = opened(hostile.url, "m")
    wanted = AnswerFormat(schema, {}, "response_format")
    assert target.generate(Request(target.chat_prompt(SHORT), format=wanted)).text == "{}"
    assert hostile.seen[-1][1].document["format"] == sent


def test_an_endless_line_ends_with_an_error(hostile: Hostile) -> None:
    as_ollama(hostile, lambda talk: talk.stream(*(b"x" * 65_536,) * 20, content_type="application/x-ndjson"))
    with pytest.raises(TargetProtocolError, match="a line of over"):
        ask(opened(hostile.url, "m"), SHORT)


def test_an_error_in_the_middle_is_the_servers_own(hostile: Hostile) -> None:
    pieces = (b'{"done": false, "message": {"content": "He"}}\n', b'{"error": "out of memory"}\n')
    as_ollama(hostile, lambda talk: talk.stream(*pieces, content_type="application/x-ndjson"))
    with pytest.raises(TargetError, match="out of memory"):
        ask(opened(hostile.url, "m"), SHORT)


@pytest.mark.parametrize("version", [{}, [], {"version": 1}])
def test_another_servers_version_page_means_openais_api(hostile: Hostile, version: Any) -> None:
    def answer(talk: Talk) -> None:
        talk.json(version)

    hostile.models = lambda talk: talk.json({"data": [{"id": "m"}]})
    hostile.pages = {"/api/version": answer}
    assert ask(opened(hostile.url, "m"), SHORT).text == "Hello"
    assert len(hostile.chats) == 1
