"""The API on a real socket in this process; what answers is a fake that says what a test wants."""

import asyncio
from collections.abc import AsyncIterator
from signal import SIGINT
from time import monotonic

import pytest

from winnow_engine.errors import (
    BudgetError,
    ModelNotFoundError,
    PromptTooLongError,
    TargetError,
    TargetUnreachableError,
    UnsupportedModelError,
    WinnowError,
)
from winnow_lsp.host.engines import ModelState
from winnow_lsp.http import app, guard
from winnow_lsp.http.app import MOST_REQUESTS
from winnow_lsp.http.guard import MOST_BYTES, Guard

from .fake import CHAT, HELLO, PATIENCE_S, READY, Fake, events, serving


async def test_a_whole_answer_with_what_it_cost() -> None:
    async with serving(Fake("Hel", "lo")) as client:
        answer = await client.post(CHAT, json=HELLO)
    document = answer.json()
    assert (answer.status_code, document["object"], document["model"]) == (200, "chat.completion", "m")
    assert document["choices"][0]["message"]["content"] == "Hello"
    assert document["choices"][0]["finish_reason"] == "stop"
    assert document["usage"] == {
        "prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9, "prompt_tokens_details": {"cached_tokens": 2},
        "winnow": {"original_tokens": 30, "kept_tokens": 7, "compression": "none"},
    }  # fmt: skip


async def test_a_stream_begins_with_the_role_and_ends_with_its_cost() -> None:
    async with serving(Fake("Hel", "lo")) as client:
        answer = await client.post(CHAT, json={**HELLO, "stream": True, "stream_options": {"include_usage": True}})
        bare = await client.post(CHAT, json={**HELLO, "stream": True})
    assert answer.headers["content-type"].startswith("text/event-stream")
    *chunks, last, done = events(answer.text)
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas == [{"role": "assistant", "content": ""}, {"content": "Hel"}, {"content": "lo"}, {}]
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert (last["choices"], last["usage"]["total_tokens"], done) == ([], 9, "[DONE]")
    assert len({chunk["id"] for chunk in chunks}) == 1
    assert "usage" not in bare.text


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (BudgetError("too long"), 400, "context_length_exceeded"),
        (UnsupportedModelError("no system"), 400, "UnsupportedModelError"),
        (ModelNotFoundError("pull it"), 503, "ModelNotFoundError"),
        (TargetUnreachableError("gone"), 502, "TargetUnreachableError"),
        (TargetError("failed"), 500, "TargetError"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_an_error_before_the_first_word_has_its_status(
    error: WinnowError, status: int, code: str, stream: bool
) -> None:
    async with serving(Fake(error=error)) as client:
        answer = await client.post(CHAT, json={**HELLO, "stream": stream})
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.json()["error"]["message"].endswith(str(error))


@pytest.mark.parametrize(
    ("path", "words"),
    [
        (CHAT, "This model's maximum context length is 32768 tokens. However, your messages resulted in 40000 tokens"),
        ("/v1/responses", "This model's maximum context length is 32768 tokens. However, "),
        ("/v1/messages", "prompt is too long: 40000 tokens > 31744 maximum"),
    ],
)
async def test_a_prompt_that_is_too_long_is_refused_in_words_that_clients_look_for(path: str, words: str) -> None:
    body = {"input": "Hello?"} if "responses" in path else {**HELLO, "max_tokens": 9}
    async with serving(Fake(error=PromptTooLongError(40_000, 31_744, 32_768, 1))) as client:
        answer = await client.post(path, json=body)
    assert (answer.status_code, answer.json()["error"]["message"].startswith(words)) == (400, True)


PINGS = [
    (CHAT, ": still reading", 'data: {"error": '),
    ("/v1/responses", ": still reading", "event: response.failed"),
    ("/v1/messages", 'event: ping\ndata: {"type": "ping"}', "event: error"),
]


@pytest.mark.parametrize(("path", "ping", "failed"), PINGS)
async def test_a_stream_shows_that_the_prompt_is_still_read(
    path: str, ping: str, failed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "_HEADERS_S", 0.0)
    monkeypatch.setattr(app, "PING_S", 0.05)
    fake = Fake(waits_s=0.3, error=TargetError("gone"))
    async with serving(fake) as client:
        body = {"input": "Hello?"} if "responses" in path else {**HELLO, "max_tokens": 9}
        answer = await client.post(path, json={**body, "stream": True})
    assert (answer.status_code, answer.headers["x-accel-buffering"]) == (200, "no")
    first, *pings, last = [
        event for event in answer.text.split("\n\n") if event and "response.in_progress" not in event
    ]
    assert len(pings) > 1
    assert "data: " in first
    assert (set(pings[:2]), failed in answer.text, "gone" in last) == ({ping}, True, True)


async def test_an_error_in_a_stream_is_its_last_event() -> None:
    async with serving(Fake("Hel", error=TargetError("gone"))) as client:
        answer = await client.post(CHAT, json={**HELLO, "stream": True})
    assert events(answer.text)[-1]["error"]["message"] == "gone"
    assert "[DONE]" not in answer.text


async def test_a_bug_is_told_as_one_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with serving(Fake(error=ZeroDivisionError("inside"))) as client:
        for path, body in ((CHAT, HELLO), ("/v1/messages", {**HELLO, "max_tokens": 5})):
            answer = await client.post(path, json=body)
            assert (answer.status_code, "bug" in answer.json()["error"]["message"]) == (500, True)
    async with serving(Fake("Hel", error=ZeroDivisionError("inside"))) as client:
        answer = await client.post(CHAT, json={**HELLO, "stream": True})
    assert events(answer.text)[-1]["error"]["code"] == "bug"
    assert caplog.text.count("ZeroDivisionError: inside") == 3
    assert "inside" not in answer.text


async def test_a_client_that_leaves_a_stream_stops_the_work() -> None:
    fake = Fake("Hel", hangs=True)
    async with serving(fake) as client:
        async with client.stream("POST", CHAT, json={**HELLO, "stream": True}):
            pass
        assert await asyncio.to_thread(fake.cancelled.wait, PATIENCE_S)


@pytest.mark.parametrize(("path", "twice"), [(CHAT, False), ("/v1/messages", False), ("/v1/responses", True)])
async def test_a_server_that_stops_ends_answers_in_progress(
    path: str, twice: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "_LEAVE_S", PATIENCE_S if twice else 0.1)
    fake, body = Fake("Hel", hangs=True), {**HELLO, "max_tokens": 9, "input": "Hello?"}
    async with serving(fake) as client:
        whole = asyncio.create_task(client.post(path, json=body))
        async with client.stream("POST", path, json={**body, "stream": True}) as answer:
            pieces = answer.aiter_text()
            await anext(pieces)
            while fake.begun < 2:
                await asyncio.sleep(0.01)
            for _ in range(1 + twice):
                fake.server.handle_exit(SIGINT, None)
            *_, last = "".join([piece async for piece in pieces]).rstrip().split("\n\n")
        refused = await whole
    assert "the server is stopping" in last
    assert (refused.status_code, "the server is stopping" in refused.json()["error"]["message"]) == (503, True)


@pytest.mark.parametrize("twice", [False, True])
async def test_a_server_that_stops_reports_no_bug_for_a_body_that_does_not_come(
    twice: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(guard, "_LEAVE_S", PATIENCE_S if twice else 0)
    monkeypatch.setattr(guard, "_CANCEL_S", 0.1)
    fake = Fake("Hel")
    async with serving(fake) as client:
        await client.post(CHAT, json=HELLO)  # an answer that has ended
        reader, writer = await asyncio.open_connection("127.0.0.1", client.base_url.port)
        head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
        writer.write(head.encode())
        await asyncio.sleep(0.1)
        for _ in range(2 * twice):
            fake.server.handle_exit(SIGINT, None)
        told_s = monotonic()
    assert monotonic() - told_s < PATIENCE_S
    assert b" 500 " in await reader.readline()
    writer.close()
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_server_that_is_told_to_stop_three_times_leaves_at_once() -> None:
    server, leaves = guard.web_server(app.app(Fake, Guard(None)), lambda: True), []
    for _ in range(3):
        server.handle_exit(SIGINT, None)
        await asyncio.sleep(0)
        leaves.append(server.force_exit)
    assert leaves == [False, False, True]


async def test_requests_beyond_the_most_are_refused_in_the_apis_form_until_there_is_room() -> None:
    fake = Fake(hangs=True)
    async with serving(fake) as client:
        asking = [asyncio.create_task(client.post(CHAT, json=HELLO)) for _ in range(MOST_REQUESTS)]
        while fake.begun < MOST_REQUESTS:
            await asyncio.sleep(0.01)
        fake.hangs = False
        refused = await client.post(CHAT, json=HELLO)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "overloaded")
        assert (await client.get("/health")).status_code == 200
        for one in asking:
            one.cancel()
        await asyncio.wait(asking)
        while (answer := await client.post(CHAT, json=HELLO)).status_code == 503:
            await asyncio.sleep(0.01)
        assert answer.status_code == 200


async def test_connections_on_which_nothing_is_asked_are_kept_and_keep_nobody_out() -> None:
    async with serving(fake := Fake("a"), token="secret") as client:
        assert fake.server.config.timeout_keep_alive > 90  # s, for which Go's and Rust's clients keep them; httpx: 5
        idle = [await asyncio.open_connection("127.0.0.1", client.base_url.port) for _ in range(MOST_REQUESTS + 1)]
        assert (await client.post(CHAT, json=HELLO, headers={"x-api-key": "secret"})).status_code == 200
        for _, writer in idle:
            writer.close()


async def test_models_and_health() -> None:
    fake = Fake()
    async with serving(fake) as client:
        model, other = (await client.get("/v1/models")).json()["data"]
        assert (model["id"], model["max_model_len"], other["id"]) == ("m", 4096, "other")
        assert (await client.get("/v1/models/m")).json() == model
        assert (await client.get("/v1/models/claude-5")).json()["id"] == "claude-5"
        unknown = await client.get("/v1/models/a/b")
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "model_not_found")
        assert "there is no /messages: OpenAI's base URL ends in /v1" in (await client.post("/messages")).text
        answer = await client.post(CHAT, json={**HELLO, "model": "claude-5"})
        assert (answer.status_code, answer.json()["model"]) == (200, "claude-5")
        assert (await client.get("/health")).json() == {"status": "ok"}
        fake.states = (READY, ModelState("m", "loading"))
        assert (await client.get("/health")).status_code == 503
        fake.states = (READY, ModelState("m", "failed", "pull it"))
        assert (await client.get("/health")).json() == {"status": "error", "error": "pull it"}


@pytest.mark.parametrize("host", ["evil.example.org", "127.0.0.1.nip.io:80", "", "[fe80::1]", "10.0.0.5:80"])
@pytest.mark.parametrize("path", [CHAT, "/v1/models", "/health"])
async def test_a_name_that_was_made_to_lead_here_is_not(host: str, path: str) -> None:
    async with serving(Fake()) as client:
        method = "POST" if path == CHAT else "GET"
        answer = await client.request(method, path, headers={"Host": host})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "wrong_host")


@pytest.mark.parametrize(
    "sent", ["", "Bearer", "Bearer wrong", "Basic secret", "secret", "Bearer secre", "Bearer secret2"]
)
async def test_without_the_token_nothing_is_told(sent: str) -> None:
    async with serving(Fake(), token="secret") as client:
        for path in (CHAT, "/v1/models", "/health"):
            method = "POST" if path == CHAT else "GET"
            answer = await client.request(method, path, headers={"Authorization": sent} if sent else {})
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")
            assert answer.headers["www-authenticate"] == "Bearer"


PAGE = "http://localhost:3000"
PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type,x-stainless-os"}


async def test_pages_of_named_origins_may_ask_and_read() -> None:
    async with serving(Fake("a"), token="secret", origins=(PAGE,)) as client:
        leave = await client.options(CHAT, headers={"Origin": PAGE, **PREFLIGHT})
        headers = {"Origin": PAGE, "Authorization": "Bearer secret"}
        answer = await client.post(CHAT, json={**HELLO, "user": "me"}, headers=headers)
    assert (leave.status_code, answer.status_code) == (200, 200)
    assert leave.headers["access-control-allow-headers"] == "content-type,x-stainless-os"
    for one in (leave, answer):
        assert one.headers["access-control-allow-origin"] == PAGE
        assert "access-control-allow-credentials" not in one.headers
    assert answer.headers["access-control-expose-headers"] == "X-Winnow-Ignored"


@pytest.mark.parametrize(
    "origin", ["http://localhost:3001", "https://localhost:3000", "http://evil.example.org", "null"]
)
@pytest.mark.parametrize("origins", [(), (PAGE,)])
async def test_pages_of_other_origins_get_no_leave(origin: str, origins: tuple[str, ...]) -> None:
    async with serving(Fake("a"), origins=origins) as client:
        leave = await client.options(CHAT, headers={"Origin": origin, **PREFLIGHT})
        answer = await client.post(CHAT, json=HELLO, headers={"Origin": origin})
    assert leave.status_code in (400, 405)
    assert not {"access-control-allow-origin"} & {*leave.headers, *answer.headers}


@pytest.mark.parametrize("origin", ["*", "null", "http://evil.example.org", "http://localhost/a", "http://a@localhost",
                                    "http://localhost.evil.org", "localhost:3000", "file://localhost"])  # fmt: skip
def test_only_origins_of_this_machine_can_be_named(origin: str) -> None:
    with pytest.raises(ValueError, match="no origin of pages on this machine"):
        Guard.of("127.0.0.1", [origin])
    assert Guard.of("127.0.0.1", ["http://LOCALHOST:3000/", "https://[::1]:8"]).origins == (PAGE, "https://[::1]:8")


async def test_a_body_that_is_too_long_is_refused_while_it_comes() -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(2 + MOST_BYTES // (1 << 20)):
            yield b" " * (1 << 20)

    async with serving(Fake()) as client:
        answer = await client.post(CHAT, content=endless(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "request_too_large")


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.5", "::", "gpu.lan"])
def test_other_machines_are_served_only_with_a_token(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WINNOW_HTTP_TOKEN", raising=False)
    with pytest.raises(ValueError, match="WINNOW_HTTP_TOKEN"):
        Guard.of(host)
    monkeypatch.setenv("WINNOW_HTTP_TOKEN", "secret")
    assert Guard.of(host).token == "secret"
    assert Guard.of("127.0.0.1").token == "secret"
