"""`/v1/responses` and `/v1/messages` as their makers' own packages read them; what answers is a fake."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import openai
import pytest

from winnow_engine.chat.turn import ThoughtDelta
from winnow_engine.core import Finish
from winnow_engine.errors import BudgetError, TargetError, TargetUnreachableError, WinnowError
from winnow_engine.prompting.tools import CallDelta, ToolCall

from .fake import CHAT, PATIENCE_S, Fake, serving

HELLO: list[Any] = [{"role": "user", "content": "Hello you?"}]
CALLS = (ToolCall("call_1", "look", '{"at": 1}'), ToolCall("call_2", "stop", "{}"))
TEXT_AND_CALLS = (
    "I ", "look.", CallDelta(0, "call_1", "look"), CallDelta(0, arguments='{"at"'), CallDelta(0, arguments=": 1}"),
    CallDelta(1, "call_2", "stop"), CallDelta(1, arguments="{}"),
)  # fmt: skip
LOOK = {"type": "object", "properties": {"at": {"type": "integer"}}}


def calling() -> Fake:
    fake = Fake(*TEXT_AND_CALLS)
    fake.calls = CALLS
    return fake


async def ask_openai(fake: Fake, ask: Callable[[openai.AsyncOpenAI], Awaitable[Any]]) -> Any:
    async with serving(fake, token="secret") as client:
        base = f"{client.base_url}/v1".replace("//v1", "/v1")
        async with openai.AsyncOpenAI(base_url=base, api_key="secret", max_retries=0) as sdk:
            return await ask(sdk)


async def ask_anthropic(fake: Fake, ask: Callable[[anthropic.AsyncAnthropic], Awaitable[Any]], key: str = "") -> Any:
    async with (
        serving(fake, token="secret") as client,
        anthropic.AsyncAnthropic(base_url=str(client.base_url), api_key=key or "secret", max_retries=0) as sdk,
    ):
        return await ask(sdk)


def message(**fields: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 9, "messages": HELLO, **fields}


async def test_a_response_has_its_text_its_calls_and_its_cost() -> None:
    tool: Any = {"type": "function", "name": "look", "parameters": LOOK, "strict": False}
    answer = await ask_openai(calling(), lambda sdk: sdk.responses.create(model="m", input="Hello?", tools=[tool]))
    assert (answer.output_text, answer.status, answer.tools[0].name) == ("I look.", "completed", "look")
    said, look, stop = answer.output
    assert (said.type, said.role, said.status) == ("message", "assistant", "completed")
    assert [(one.call_id, one.name, one.arguments) for one in (look, stop)] == [
        (call.id, call.name, call.arguments) for call in CALLS
    ]
    usage = answer.usage
    assert (usage.input_tokens, usage.input_tokens_details.cached_tokens, usage.output_tokens) == (7, 2, 7)
    assert usage.total_tokens == 14


async def test_a_streamed_response_is_what_the_helper_puts_together() -> None:
    async def ask(sdk: openai.AsyncOpenAI) -> Any:
        async with sdk.responses.stream(model="m", input=HELLO) as stream:
            kinds = [event.type async for event in stream]
            return kinds, await stream.get_final_response()

    kinds, answer = await ask_openai(calling(), ask)
    assert kinds == [
        "response.created", "response.in_progress",
        "response.output_item.added", "response.content_part.added", "response.output_text.delta",
        "response.output_text.delta", "response.output_text.done", "response.content_part.done",
        "response.output_item.done",
        "response.output_item.added", "response.function_call_arguments.delta",
        "response.function_call_arguments.delta", "response.function_call_arguments.done", "response.output_item.done",
        "response.output_item.added", "response.function_call_arguments.delta",
        "response.function_call_arguments.done", "response.output_item.done",
        "response.completed",
    ]  # fmt: skip
    assert answer.output_text == "I look."
    assert [(one.name, one.arguments, one.status) for one in answer.output[1:]] == [
        ("look", '{"at": 1}', "completed"),
        ("stop", "{}", "completed"),
    ]
    assert answer.usage.total_tokens == 14


async def test_a_response_that_is_cut_off_says_why() -> None:
    fake = Fake("Hel")
    fake.finish = "length"
    answer = await ask_openai(fake, lambda sdk: sdk.responses.create(model="m", input="Hi", max_output_tokens=3))
    assert (answer.incomplete_details.reason, answer.max_output_tokens) == ("max_output_tokens", 3)
    assert (answer.status, answer.output[-1].status) == ("incomplete", "incomplete")

    async def ask(sdk: openai.AsyncOpenAI) -> Any:
        return [event async for event in await sdk.responses.create(model="m", input="Hi", stream=True)]

    *_, item, end = await ask_openai(fake, ask)
    assert (end.type, item.item.status) == ("response.incomplete", "incomplete")


async def test_a_message_has_its_text_its_calls_and_its_cost() -> None:
    tool: Any = {"name": "look", "input_schema": LOOK}
    answer = await ask_anthropic(calling(), lambda sdk: sdk.messages.create(**message(tools=[tool])))
    assert (answer.role, answer.model, answer.stop_reason) == ("assistant", "m", "tool_use")
    said, look, stop = answer.content
    assert (said.type, said.text) == ("text", "I look.")
    assert [(one.id, one.name, one.input) for one in (look, stop)] == [
        ("call_1", "look", {"at": 1}),
        ("call_2", "stop", {}),
    ]
    usage = answer.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (5, 2, 7)


async def test_a_streamed_message_is_what_the_helper_puts_together() -> None:
    async def ask(sdk: anthropic.AsyncAnthropic) -> Any:
        async with sdk.messages.stream(**message()) as stream:
            kinds = [event.type async for event in stream]
            return kinds, await stream.get_final_message()

    kinds, answer = await ask_anthropic(calling(), ask)
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert [kind for kind in kinds if kind not in ("text", "input_json")] == [
        "message_start", *block[:2], *block[1:], *block[:2], *block[1:], *block, "message_delta", "message_stop",
    ]  # fmt: skip
    assert [block.model_dump(exclude_none=True) for block in answer.content] == [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "call_1", "name": "look", "input": {"at": 1}},
        {"type": "tool_use", "id": "call_2", "name": "stop", "input": {}},
    ]
    assert answer.stop_reason == "tool_use"
    assert (answer.usage.input_tokens, answer.usage.cache_read_input_tokens, answer.usage.output_tokens) == (5, 2, 7)


@pytest.mark.parametrize(
    ("finish", "stops", "reason", "stopped"),
    [("eos", [], "end_turn", None), ("length", [], "max_tokens", None), ("stop", ["END"], "stop_sequence", "END"),
     ("stop", ["A", "B"], "stop_sequence", None)],
)  # fmt: skip
async def test_what_ended_a_message(finish: Finish, stops: list[str], reason: str, stopped: str | None) -> None:
    fake = Fake("Hel")
    fake.finish = finish

    async def ask(sdk: anthropic.AsyncAnthropic) -> Any:
        async with sdk.messages.stream(**message(stop_sequences=stops)) as stream:
            streamed = await stream.get_final_message()
        return streamed, await sdk.messages.create(**message(stop_sequences=stops))

    for answer in await ask_anthropic(fake, ask):
        assert (answer.stop_reason, answer.stop_sequence) == (reason, stopped)


ERRORS: list[tuple[WinnowError, str]] = [
    (BudgetError("too long"), "BadRequestError"),
    (TargetUnreachableError("gone"), "InternalServerError"),
    (TargetError("failed"), "InternalServerError"),
]


@pytest.mark.parametrize(("error", "raised"), ERRORS)
@pytest.mark.parametrize("stream", [False, True])
async def test_an_error_is_the_right_exception(error: WinnowError, raised: str, stream: bool) -> None:
    with pytest.raises(getattr(openai, raised), match=str(error)):
        await ask_openai(Fake(error=error), lambda sdk: sdk.responses.create(model="m", input="Hi", stream=stream))
    with pytest.raises(getattr(anthropic, raised), match=str(error)) as failed:
        await ask_anthropic(Fake(error=error), lambda sdk: sdk.messages.create(**message(stream=stream)))
    assert failed.value.type == ("invalid_request_error" if raised == "BadRequestError" else "api_error")


async def of_messages(sdk: anthropic.AsyncAnthropic) -> None:
    async with sdk.messages.stream(**message()) as stream:
        await stream.get_final_message()


async def test_an_error_in_a_stream_is_an_exception_too() -> None:
    async def response(sdk: openai.AsyncOpenAI) -> None:
        async for _ in await sdk.responses.create(model="m", input="Hi", stream=True):
            pass

    with pytest.raises(openai.APIError, match="broke"):
        await ask_openai(Fake("Hel", error=TargetError("broke")), response)
    with pytest.raises(anthropic.APIStatusError, match="broke"):
        await ask_anthropic(Fake("Hel", error=TargetError("broke")), of_messages)


async def test_older_completions_are_read_whole_and_streamed() -> None:
    async def ask(sdk: openai.AsyncOpenAI) -> Any:
        whole = await sdk.completions.create(model="m", prompt=["Say hello."], max_tokens=9)
        sent = await sdk.completions.create(model="m", prompt="Hi", stream=True, stream_options={"include_usage": True})
        return whole, [chunk async for chunk in sent]

    whole, chunks = await ask_openai(Fake("Hel", ThoughtDelta("Hm."), "lo"), ask)
    assert (whole.object, whole.choices[0].text, whole.choices[0].finish_reason) == ("text_completion", "Hello", "stop")
    assert ["".join(choice.text for choice in chunk.choices) for chunk in chunks] == ["Hel", "lo", "", ""]
    assert (chunks[-2].choices[0].finish_reason, chunks[-1].usage.total_tokens) == ("stop", whole.usage.total_tokens)


async def test_texts_become_vectors_of_the_length_that_is_wanted() -> None:
    async def ask(sdk: openai.AsyncOpenAI) -> Any:
        packed = await sdk.embeddings.create(model="e", input=["a", "bc"])  # as base64, which is the package's default
        plain = await sdk.embeddings.create(model="m", input="a", dimensions=2, encoding_format="float")
        return packed, plain, await sdk.models.retrieve("m")

    packed, plain, model = await ask_openai(Fake(), ask)
    assert [len(one.embedding) for one in packed.data] == [4, 4]
    assert packed.data[1].embedding == pytest.approx([3 / 29**0.5, 4 / 29**0.5, 0, 2 / 29**0.5])
    assert (plain.data[0].embedding, plain.usage.total_tokens) == (pytest.approx([0.6, 0.8]), 5)
    assert (packed.model, plain.model, model.id) == ("e", "m", "m")


WRONG = [
    ("embeddings", {"input": ""}, "input"),
    ("embeddings", {"input": []}, "input"),
    ("embeddings", {"input": [[1, 2]]}, "input"),
    ("embeddings", {"input": ["a"] * 2049}, "input"),
    ("embeddings", {"input": "a", "dimensions": 5}, "dimensions"),
    ("embeddings", {"input": "a", "encoding_format": "hex"}, "encoding_format"),
    ("embeddings", {"input": "a", "model": "x"}, "model"),
    ("completions", {"prompt": ["a", "b"]}, "prompt"),
    ("completions", {"prompt": [1, 2]}, "prompt"),
    ("completions", {"prompt": " "}, "prompt"),
    ("completions", {"prompt": "def f(", "suffix": "return"}, "suffix"),
    ("completions", {"prompt": "a", "echo": True}, "echo"),
    ("completions", {"prompt": "a", "n": 2}, "n"),
]


@pytest.mark.parametrize(("route", "body", "param"), WRONG, ids=lambda value: str(value)[:40])
async def test_what_these_routes_cannot_do_is_refused_by_name(route: str, body: dict[str, Any], param: str) -> None:
    async with serving(Fake("a")) as client:
        answer = await client.post(f"/v1/{route}", json=body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (404 if param == "model" else 400, param)


@pytest.mark.parametrize(
    "path", [CHAT, "/v1/responses", "/v1/responses/input_tokens", "/v1/messages", "/v1/messages/count_tokens"]
)
@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_stops_the_work(path: str, stream: bool) -> None:
    fake = Fake("Hel", hangs=True)
    body = message(stream=stream, input="Hi")
    async with serving(fake) as client:
        sending = asyncio.ensure_future(client.post(path, json=body))
        while not fake.asked.is_set():
            await asyncio.sleep(0.01)
        sending.cancel()
        assert await asyncio.to_thread(fake.cancelled.wait, PATIENCE_S)


async def test_what_is_ignored_is_named_in_a_header() -> None:
    async with serving(Fake("a")) as client:
        chat = await client.post(CHAT, json={"messages": HELLO, "store": True, "metadata": {"a": "b"}})
        response = await client.post("/v1/responses", json={"input": "Hi", "store": True, "truncation": "auto"})
        told = await client.post("/v1/messages?beta=true", json=message(metadata={"user_id": "u"}, stream=True))
        counted = await client.post("/v1/messages/count_tokens", json=message(service_tier="auto"))
        plain = await client.post("/v1/messages", json=message(metadata={}))
    assert [answer.headers.get("x-winnow-ignored") for answer in (chat, response, told, counted, plain)] == [
        "metadata, store", "store, truncation", "metadata", "service_tier", None,
    ]  # fmt: skip


ROUTES: list[tuple[str, dict[str, Any]]] = [
    (CHAT, message()),
    ("/v1/completions", {"prompt": "Hi"}),
    ("/v1/embeddings", {"input": "Hi"}),
    ("/v1/responses", {"input": "Hi"}),
    ("/v1/responses/input_tokens", {"input": "Hi"}),
    ("/v1/messages", message()),
    ("/v1/messages/count_tokens", message()),
]


@pytest.mark.parametrize(("path", "body"), ROUTES)
async def test_every_route_has_the_same_guard(path: str, body: dict[str, Any]) -> None:
    async with serving(Fake("a")) as client:
        assert (await client.post(path, json=body, headers={"Host": "evil.example.org"})).status_code == 403
        plain = {"Content-Type": "text/plain"}
        answer = await client.post(path, content=b"{}", headers=plain)  # which a page sends without leave
        assert (answer.status_code, "access-control-allow-origin" in answer.headers) == (415, False)
        assert (await client.get(path)).status_code == 405
    async with serving(Fake("a"), token="secret") as client:
        for wrong in ({}, {"x-api-key": "no"}, {"Authorization": "Bearer no", "x-api-key": "secret"}):
            answer = await client.post(path, json=body, headers=wrong)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
            kind = answer.json()["error"]["type"]
            assert kind == ("authentication_error" if "messages" in path else "invalid_request_error")
        for right in ({"x-api-key": "secret"}, {"Authorization": "Bearer secret"}):
            assert (await client.post(path, json=body, headers=right)).status_code == 200


async def test_calls_that_come_at_the_same_time_are_an_error_not_a_muddle() -> None:
    mixed = (CallDelta(0, "a", "look"), CallDelta(1, "b", "look"), CallDelta(0, arguments="{}"))
    with pytest.raises(anthropic.APIStatusError, match="several calls at the same time"):
        await ask_anthropic(Fake(*mixed), of_messages)


async def test_arguments_that_are_no_object_are_an_error_of_the_target() -> None:
    fake = Fake("x")
    fake.calls = (ToolCall("1", "look", "[1"),)
    with pytest.raises(anthropic.InternalServerError, match="no JSON object"):
        await ask_anthropic(fake, lambda sdk: sdk.messages.create(**message()))
    fake.finish = "length"
    cut = await ask_anthropic(fake, lambda sdk: sdk.messages.create(**message()))
    assert (cut.content[-1].input, cut.stop_reason) == ({}, "max_tokens")
