"""The target on a server that misbehaves in every way: nothing hangs, and every failure has a name."""

import json
import logging
import socket
import threading
import time
from dataclasses import replace

import pytest

from winnow_engine.core import Cancellation, Progress, Sampling
from winnow_engine.errors import (
    BudgetError,
    ModelNotFoundError,
    TargetError,
    TargetProtocolError,
    TargetRefusedError,
    TargetTimeoutError,
    TargetUnreachableError,
    WinnowError,
)
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Generation, Request, Target
from winnow_engine.targets.remote.address import KEY_VARIABLE, parse
from winnow_engine.targets.remote.client import RetryPolicy
from winnow_engine.targets.remote.framing import LONGEST_LINE
from winnow_engine.targets.remote.target import HttpTarget

from ..hostile import DONE, GOOD, Answer, Hostile, Talk, event, served

QUICK = RetryPolicy(after_last_s=0.2, retries=(0.02, 0.05))
IMPATIENT = replace(QUICK, first_token_s=1.5, between_tokens_s=0.3)
SOON_S = 10  # a fraction of the wait for a server that is silent
QUESTION = [Message("system", "Be brief."), Message("user", "Hello?")]


def opened(hostile: Hostile, model: str = "", *, policy: RetryPolicy = QUICK, **options) -> HttpTarget:
    return HttpTarget.open(parse(f"{hostile.url}/v1#{model}"), policy=policy, **options)


def ask(target: Target, sampling: Sampling | None = None, **sinks) -> Generation:
    return target.generate(Request(target.chat_prompt(QUESTION), sampling or Sampling(max_tokens=8), **sinks))


def test_an_answer_streams_and_its_cost_is_what_the_server_counted(hostile: Hostile) -> None:
    usage = {"prompt_tokens": 21, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 5}}
    last = b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n"
    hostile.chat = lambda talk: talk.stream(*GOOD[:3], last, DONE)
    pieces, reports = list[str](), list[Progress]()
    answer = ask(opened(hostile), on_text=pieces.append, progress=reports.append)
    assert (answer.text, answer.finish, pieces) == ("Hello", "eos", ["Hel", "lo"])
    assert (answer.prompt_tokens, answer.decode_tokens, answer.reused_tokens) == (21, 3, 5)
    assert answer.first_token_s is not None
    assert [report.stage for report in reports] == ["prefill", "prefill"]
    assert [report.done for report in reports] == [0, reports[0].total]


def test_the_request_says_what_to_sample_and_greedy_sends_no_seed(hostile: Hostile) -> None:
    target = opened(hostile)
    ask(target)
    ask(target, Sampling(temperature=0.5, top_p=0.9, seed=7, max_tokens=4, stop=("END",)))
    greedy, sampled = (talk.document for talk in hostile.chats)
    assert greedy["messages"] == [{"role": m.role, "content": m.content} for m in QUESTION]
    assert (greedy["model"], greedy["stream"], greedy["max_tokens"], greedy["temperature"]) == ("m", True, 8, 0)
    assert not {"seed", "top_p", "stop"} & greedy.keys()
    assert (sampled["temperature"], sampled["top_p"], sampled["seed"], sampled["stop"]) == (0.5, 0.9, 7, ["END"])


def test_a_question_with_half_a_surrogate_pair_is_sent(hostile: Hostile) -> None:
    target = opened(hostile)
    prompt = target.chat_prompt([Message("user", "a\ud83d ä")])
    assert target.generate(Request(prompt, Sampling(max_tokens=8))).text == "Hello"
    assert hostile.chats[0].document["messages"][0]["content"] == "a\ud83d ä"
    assert hostile.chats[0].headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_events_may_be_cut_anywhere_and_end_in_any_way(hostile: Hostile, end: bytes) -> None:
    lines = b": a comment" + end + b"".join(GOOD).replace(b"\n\n", end)
    hostile.chat = lambda talk: talk.stream(*(lines[i : i + 1] for i in range(len(lines))))
    assert ask(opened(hostile)).text == "Hello"


def test_text_with_line_separators_of_unicode_and_half_a_surrogate_arrives(hostile: Hostile) -> None:
    odd = b'data: {"choices": [{"delta": {"content": "a\xe2\x80\xa8b\\ud83d"}}]}\n\n'
    hostile.chat = lambda talk: talk.stream(odd, *GOOD[2:])
    assert ask(opened(hostile)).text == "a\u2028b?"


def test_a_finish_is_enough_where_done_never_comes(hostile: Hostile) -> None:
    def hang(talk: Talk) -> None:
        talk.stream(*GOOD[:3])
        talk.until_left()

    hostile.chat = hang
    started = time.perf_counter()
    assert ask(opened(hostile)).text == "Hello"
    assert time.perf_counter() - started < SOON_S


BAD_ANSWERS: dict[str, tuple[Answer, type[WinnowError], str]] = {
    "an empty stream": (lambda t: t.stream(), TargetProtocolError, "in the middle"),
    "no JSON": (lambda t: t.stream(b"data: {oops\n\n"), TargetProtocolError, "no chunk"),
    "other JSON": (lambda t: t.stream(b"data: [1, 2]\n\n"), TargetProtocolError, "no chunk"),
    "deep JSON": (lambda t: t.stream(b"data: " + b"[" * 100_000 + b"\n\n"), TargetProtocolError, "no chunk"),
    "content of numbers": (lambda t: t.stream(event().replace(b'"delta": {}', b'"delta": {"content": 5}')),
                           TargetProtocolError, "no text"),
    "an error in the stream": (lambda t: t.stream(GOOD[0], b'data: {"error": {"message": "out of memory"}}\n\n'),
                               TargetError, "out of memory"),
    "a page": (lambda t: t.reply(200, b"<html>", "text/html"), TargetProtocolError, "text/html instead of"),
    "an endless line": (lambda t: t.stream(*[b"data: " + b"x" * LONGEST_LINE] * 2), TargetProtocolError, "bytes"),
    "an endless answer": (lambda t: t.stream(*[event("x" * 5000)] * 99), TargetProtocolError, "does not stop"),
    "silence": (lambda t: t.until_left(), TargetTimeoutError, "no token within 1.5 s"),
    "silence after a token": (lambda t: (t.stream(GOOD[0]), t.until_left())[0], TargetTimeoutError,
                              "no further token within 0.3 s"),
    "a comment now and then": (lambda t: t.stream(GOOD[0], *[b": ping\n\n"] * 60, pause_s=0.05),
                               TargetTimeoutError, "no further token"),
    "a byte now and then": (lambda t: t.stream(*[b"d"] * 60, pause_s=0.05), TargetTimeoutError, "no token"),
    "another model": (lambda t: t.json({"error": {"message": "no model m"}}, 404), ModelNotFoundError, "no model m"),
    "no key": (lambda t: t.json({"error": "who?"}, 401), TargetRefusedError, KEY_VARIABLE),
    "too long": (lambda t: t.json({"error": {"code": "context_length_exceeded", "message": "9 > 8"}}, 400),
                 BudgetError, "do not fit"),
    "too long, as llama-cpp-python says it": (
        lambda t: t.json({"error": {"message": "Requested tokens (9) exceed context window of 8"}}, 500),
        BudgetError, "do not fit"),
    "a redirect": (lambda t: t.reply(307, b"", Location="http://example.org/v1"), TargetProtocolError,
                   "redirects to http://example.org/v1"),
    "a bad request": (lambda t: t.json({"error": {"message": "no such field"}}, 400), TargetError, "no such field"),
    "a deep reason": (lambda t: t.reply(418, b"[" * 100_000), TargetError, "failed (418"),
    "a long reason": (lambda t: t.reply(418, b"\x1b[2J\n" * 9000, "text/plain"), TargetError, "failed (418"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_ANSWERS)
def test_a_bad_answer_has_a_name_comes_soon_and_is_never_asked_for_twice(hostile: Hostile, name: str) -> None:
    hostile.chat, kind, says = BAD_ANSWERS[name]
    target = opened(hostile, policy=IMPATIENT if kind is TargetTimeoutError else QUICK)
    started = time.perf_counter()
    with pytest.raises(WinnowError) as raised:
        ask(target)
    assert time.perf_counter() - started < SOON_S
    assert (type(raised.value), len(hostile.chats)) == (kind, 1)
    assert says in str(raised.value)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_server_that_recovers_before_the_first_token_is_asked_again(hostile: Hostile, status: int) -> None:
    hostile.chat = lambda talk: talk.stream(*GOOD) if len(hostile.chats) > 2 else talk.json({}, status)
    assert ask(opened(hostile)).text == "Hello"
    assert len(hostile.chats) == 3


def test_a_connection_that_breaks_before_an_answer_is_tried_again(hostile: Hostile) -> None:
    hostile.chat = lambda talk: talk.stream(*GOOD) if len(hostile.chats) > 1 else talk.reset()
    assert ask(opened(hostile)).text == "Hello"


def test_a_server_that_stays_broken_is_given_up_with_its_own_reason(hostile: Hostile) -> None:
    hostile.chat = lambda talk: talk.json({"error": {"message": "CUDA error"}}, 500)
    with pytest.raises(TargetError, match="CUDA error"):
        ask(opened(hostile))
    assert len(hostile.chats) == 3


@pytest.mark.parametrize(("retry_after", "attempts"), [("0", 3), ("11", 1), ("Wed, 21 Oct 2026 07:28:00 GMT", 1)])
def test_retry_after_is_obeyed_within_bounds(hostile: Hostile, retry_after: str, attempts: int) -> None:
    hostile.chat = lambda talk: talk.json({}, 429, Retry_After=retry_after)
    with pytest.raises(TargetError, match="busy"):
        ask(opened(hostile))
    assert len(hostile.chats) == attempts


def test_cancelling_closes_the_connection_at_once(hostile: Hostile) -> None:
    left_at = list[float]()

    def stream(talk: Talk) -> None:
        talk.stream(GOOD[0])
        talk.until_left()
        left_at.append(time.perf_counter())

    hostile.chat, took_s = stream, list[float]()
    target = opened(hostile)
    for number in range(5):
        cancellation = Cancellation()
        answer = ask(target, cancellation=cancellation, on_text=lambda _, one=cancellation: one.cancel())
        returned = time.perf_counter()
        assert (answer.text, answer.finish) == ("Hel", "cancelled")
        while len(left_at) <= number:
            assert time.perf_counter() - returned < SOON_S
            time.sleep(0.001)
        took_s.append(left_at[-1] - returned)
    assert min(took_s) < 1  # a busy machine may take its time


@pytest.mark.parametrize(
    "chat", [Talk.until_left, lambda talk: talk.json({}, 503, Retry_After="9")], ids=["silence", "a pause to retry"]
)
def test_cancelling_before_the_first_token_waits_for_nothing(hostile: Hostile, chat: Answer) -> None:
    hostile.chat, took_s = chat, list[float]()
    target = opened(hostile)
    for _ in range(3):
        cancellation, cancelled_at = Cancellation(), list[float]()
        timer = threading.Timer(0.1, lambda at, one: (at.append(time.perf_counter()), one.cancel()),
                                (cancelled_at, cancellation))  # fmt: skip
        timer.start()
        answer = ask(target, cancellation=cancellation)
        took_s.append(time.perf_counter() - cancelled_at[0])
        assert (answer.finish, answer.first_token_s, answer.decode_tokens) == ("cancelled", None, 0)
        timer.join()
    assert min(took_s) < 1  # a busy machine may take its time


def test_the_key_goes_to_the_server_and_nowhere_else(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv(KEY_VARIABLE, "sk-secret")
    target = opened(hostile)
    ask(target)
    assert {talk.headers.get("Authorization") for _, talk in hostile.seen} == {"Bearer sk-secret"}
    with served(Hostile()) as other:
        hostile.chat = lambda talk: talk.reply(307, b"", Location=f"{other.url}/v1/chat/completions")
        with pytest.raises(TargetProtocolError, match="redirects"):
            ask(target)
        hostile.chat = lambda talk: talk.json({"error": "wrong key: sk-secret"}, 401)
        with pytest.raises(TargetRefusedError) as raised:
            ask(target)
    assert other.seen == []
    assert "sk-secret" not in caplog.text + str(raised.value) + repr(target)


def test_a_key_that_no_header_can_carry_is_named_without_being_shown(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "sk\u00e9cret\nX: y")
    with pytest.raises(TargetRefusedError, match=KEY_VARIABLE) as raised:
        opened(hostile)
    assert "cret" not in str(raised.value)


def test_a_proxy_does_not_get_what_is_for_this_machine(hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert ask(opened(hostile)).text == "Hello"


def test_a_server_that_is_not_there_is_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = parse(f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(TargetUnreachableError, match="is its server running"):
            HttpTarget.open(address, policy=QUICK)


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("ALL_PROXY", "odd://127.0.0.1:1", "by the proxy that the environment names: Unknown scheme"),
        ("ALL_PROXY", "http://[::1", "by the proxy that the environment names"),
        ("SSL_CERT_FILE", "/nowhere", "certificates that SSL_CERT_FILE or SSL_CERT_DIR names cannot be read"),
    ],
)
def test_what_the_environment_names_to_reach_servers_may_be_unusable(
    variable: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(TargetUnreachableError, match=says):
        HttpTarget.open(parse("https://example.org/v1"), policy=QUICK)


def test_the_only_model_is_taken_and_one_of_several_must_be_named(hostile: Hostile) -> None:
    assert opened(hostile).model == "m"
    hostile.models = lambda talk: talk.json({"data": [{"id": "a/b"}, {"id": "c"}]})
    assert opened(hostile, "a/b").model == "a/b"
    for name, says in (("", "has 2 models"), ("d", "has no model d")):
        with pytest.raises(ModelNotFoundError, match=f"{says}.*a/b, c"):
            opened(hostile, name)


@pytest.mark.parametrize("status", [403, 404])
def test_a_server_may_keep_the_list_of_its_models_to_itself(hostile: Hostile, status: int) -> None:
    hostile.models = lambda talk: talk.json({"error": {"message": "missing scope"}}, status)
    assert ask(opened(hostile, "a/b")).text == "Hello"
    with pytest.raises(WinnowError, match=r"missing scope.*behind #"):
        opened(hostile)
    hostile.models = lambda talk: talk.json({}, 401)
    with pytest.raises(TargetRefusedError):
        opened(hostile, "a/b")


BAD_LISTS: dict[str, tuple[Answer, type[WinnowError]]] = {
    "no key": (lambda t: t.json({"error": "key?"}, 403), TargetRefusedError),
    "no API": (lambda t: t.json({}, 404), ModelNotFoundError),
    "a page": (lambda t: t.reply(200, b"<html>", "text/html"), TargetProtocolError),
    "no JSON": (lambda t: t.reply(200, b"{"), TargetProtocolError),
    "other JSON": (lambda t: t.json({"data": [1]}), TargetProtocolError),
    "deep JSON": (lambda t: t.reply(200, b"[" * 100_000), TargetProtocolError),
    "no models": (lambda t: t.json({"data": []}), ModelNotFoundError),
    "silence": (Talk.until_left, TargetTimeoutError),
    "a byte now and then": (lambda t: t.stream(*[b" "] * 40, pause_s=0.05, content_type="application/json"),
                            TargetTimeoutError),
    "too much": (lambda t: t.reply(200, b" " * (5 << 20)), TargetProtocolError),
    "half": (lambda t: (t.stream(b"{", content_type="application/json"), t.reset())[0], TargetProtocolError),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_LISTS)
def test_a_bad_list_of_models_has_a_name(hostile: Hostile, name: str) -> None:
    hostile.models, kind = BAD_LISTS[name]
    with pytest.raises(WinnowError) as raised:
        opened(hostile, policy=replace(QUICK, short_s=0.5) if kind is TargetTimeoutError else QUICK)
    assert type(raised.value) is kind


LM_STUDIO = (
    {"error": "Unexpected endpoint or method. (GET /props)"},
    {"data": [{"id": "m", "state": "loaded", "max_context_length": 131072, "loaded_context_length": 16384}]},
)


@pytest.mark.parametrize(
    ("entry", "pages", "limit"),
    [
        ({"max_model_len": 32768}, {}, 32768),
        ({"meta": {"n_ctx": 8192, "n_ctx_train": 131072}}, {}, 8192),
        ({"meta": {"n_ctx_train": 131072}}, {"/props": {"default_generation_settings": {"n_ctx": 2048}}}, 2048),
        ({}, {"/props": {"default_generation_settings": {"n_ctx": "many"}}}, 4096),
        ({}, {"/props": LM_STUDIO[0], "/api/v0/models": LM_STUDIO[1]}, 16384),
        ({}, {}, 4096),
        ({"max_model_len": True}, {}, 4096),
    ],
)
def test_the_context_is_what_the_server_runs_with(hostile: Hostile, entry: dict, pages: dict, limit: int) -> None:
    hostile.models = lambda talk: talk.json({"data": [{"id": "m", **entry}]})
    hostile.pages = {path: lambda talk, body=body: talk.json(body) for path, body in pages.items()}
    assert opened(hostile).context_limit == limit
    assert opened(hostile, context_limit=77).context_limit == 77


def test_a_server_is_asked_once_for_the_context_that_lm_studio_tells(hostile: Hostile) -> None:
    hostile.models = lambda talk: talk.json({"data": [{"id": "m"}]})
    hostile.pages["/api/v0/models"] = lambda talk: talk.json({}, status=503)
    assert opened(hostile).context_limit == 4096
    assert [path for path, _ in hostile.seen].count("/api/v0/models") == 1


@pytest.mark.parametrize(
    ("path", "answer", "counts"),
    [
        ("/tokenize", {"count": 2, "max_model_len": 9, "tokens": [1, 2]}, "vLLM's"),
        ("/tokenize", {"tokens": [1, 2]}, "llama-server's"),
        ("/extras/tokenize/count", {"count": 2}, "llama-cpp-python's"),
        ("/tokenize", {"tokens": 5}, "estimated"),
        ("/tokenize", {"count": 100_000}, "estimated"),
    ],
)
def test_tokens_are_counted_as_the_server_can(hostile: Hostile, path: str, answer: dict, counts: str) -> None:
    hostile.pages = {path: lambda talk: talk.json(answer)}
    target = opened(hostile)
    assert counts in target.counts
    assert target.count("x" * 100) == (50 if counts == "estimated" else 2)
    assert len(target.chat_prompt(QUESTION)) > target.count("Be brief.\nHello?")


def test_a_prompt_beyond_the_context_is_refused_before_it_is_sent(hostile: Hostile) -> None:
    target = opened(hostile)
    with pytest.raises(BudgetError, match="context of 1000"):
        ask(target, Sampling(max_tokens=990))
    assert hostile.chats == []
