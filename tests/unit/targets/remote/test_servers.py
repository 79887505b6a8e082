"""Servers as they are: their answers are kept however they write and end them, and what they refuse is left out."""

import json
from typing import Any

import pytest

from winnow_engine.core import Sampling
from winnow_engine.errors import ModelNotFoundError, SchemaError, TargetError, TargetProtocolError, WinnowError
from winnow_engine.prompting.messages import Message
from winnow_engine.prompting.tools import NO_TOOLS, AnswerFormat, CallDelta, Tools
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.remote.address import parse
from winnow_engine.targets.remote.client import RetryPolicy
from winnow_engine.targets.remote.target import HttpTarget

from ..hostile import DONE, GOOD, Hostile, Talk, delta, event

QUICK = RetryPolicy(after_last_s=0.2, retries=(0.02,))
LOOKS = Tools(({"type": "function", "function": {"name": "look"}},))


def opened(hostile: Hostile, model: str = "") -> HttpTarget:
    return HttpTarget.open(parse(f"{hostile.url}/v1#{model}"), policy=QUICK)


def ask(hostile: Hostile, sampling: Sampling | None = None, tools: Tools = NO_TOOLS, **fields: Any) -> Generation:
    target = opened(hostile)
    prompt = target.chat_prompt([Message("user", "Hello?")], tools)
    return target.generate(Request(prompt, sampling or Sampling(max_tokens=9), **fields))


@pytest.mark.parametrize(
    ("reason", "finish", "says"),
    [
        *((reason, "eos", "") for reason in ("stop", "eos", "eos_token", "EOS", "end_turn", "stop_sequence")),
        *((reason, "eos", "") for reason in ("function_call", "tool_calls", "", None)),
        *((reason, "length", "") for reason in ("length", "max_tokens", "MAX_TOKENS", "model_length")),
        ("content_filter", "eos", "its content filter"),
        ("abort", "eos", "a reason of its own: abort"),
        ({"type": "eos\x1b"}, "eos", "a reason of its own: {'type'"),
        (True, "eos", "a reason of its own: True"),
    ],
)
def test_any_reason_ends_an_answer(hostile: Hostile, reason: Any, finish: str, says: str) -> None:
    hostile.chat = lambda talk: talk.stream(*GOOD[:2], event(finish=reason), DONE)
    answer = ask(hostile)
    assert (answer.text, answer.finish, bool(answer.notices)) == ("Hello", finish, bool(says))
    assert says in "".join(answer.notices)
    assert "".join(answer.notices).isprintable()


def data(document: Any) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def part(content: Any, **more: Any) -> bytes:
    return data({"choices": [{"delta": {"content": content, **more}}]})


END = event(finish="stop")
TEXT, THOUGHT = [{"type": "text", "text": "Hel"}], [{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}]
WHOLE = {"choices": [{"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]}
STREAMS: dict[str, tuple[bytes, ...]] = {
    "no space after data": tuple(one.replace(b"data: ", b"data:") for one in GOOD),
    "a mark of byte order": (b"\xef\xbb\xbf", *GOOD),
    "comments and other fields": (b": ping\n\nevent: x\nid: 1\nretry: 5\ndata:\n\n", *GOOD[:3], b"data: [DONE] \n\n"),
    "no blank lines": tuple(one.replace(b"\n\n", b"\n") for one in GOOD),
    "no blank line at the end": (*GOOD[:2], END.rstrip()),
    "no end of line at the end": (*GOOD[:3], b"data: [DONE]"),
    "no reason to finish": (*GOOD[:2], DONE),
    "a reason in each chunk": (*(one.replace(b"null", b'""') for one in GOOD[:2]), *GOOD[2:]),
    "JSON in several lines": (b"data: {\ndata: " + GOOD[0][7:], *GOOD[1:]),
    "JSON alone": (json.dumps(WHOLE, indent=1).encode(),),
    "no choices": (data({"choices": []}), data({"choices": None}), data({}), data({"type": "ping"}), *GOOD),
    "the role alone": (part(None, role="assistant"), data({"choices": [{"delta": None}]}), *GOOD),
    "a list of parts": (part(THOUGHT + TEXT), part([]), part(["lo"]), *GOOD[2:]),
    "half a usage": (*GOOD[:3], data({"choices": [], "usage": {"prompt_tokens": None, "total_tokens": 4}}), DONE),
    "an odd usage": (data({"choices": [], "usage": "none", "error": None}), *GOOD),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("kind", ["text/event-stream;charset=utf-8", "text/plain", "application/json", ""])
def test_an_answer_is_read_however_it_is_written(hostile: Hostile, name: str, kind: str) -> None:
    pieces = STREAMS[name]
    hostile.chat = lambda talk: talk.stream(b"".join(pieces[:1]), *pieces[1:], content_type=kind)
    answer = ask(hostile)
    assert (answer.text, answer.finish, answer.notices) == ("Hello", "eos", ())
    assert answer.prompt_tokens > 0
    assert (answer.thought.text if answer.thought else "") == ("Hm." if name == "a list of parts" else "")


def broken(talk: Talk) -> None:
    talk.stream(*GOOD[:2])
    talk.reset()


@pytest.mark.parametrize("chat", [broken, lambda t: t.stream(*GOOD[:2]), lambda t: t.stream(*GOOD[:2], b'data: {"ch')])
def test_an_answer_that_breaks_off_is_kept_and_said_to_be_cut(hostile: Hostile, chat: Any) -> None:
    hostile.chat = chat
    answer = ask(hostile)
    assert (answer.text, answer.finish) == ("Hello", "length")
    assert "ended its answer in the middle" in answer.notices[0]


def test_half_a_call_is_no_answer(hostile: Hostile) -> None:
    call = {"index": 0, "id": "1", "function": {"name": "look", "arguments": '{"at'}}
    calls = list[CallDelta]()
    hostile.chat = lambda talk: talk.stream(delta(tool_calls=[call]))
    with pytest.raises(TargetProtocolError, match="in the middle"):
        ask(hostile, tools=LOOKS, on_call=calls.append)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"object": "error", "message": "out of memory", "code": 50_000}, "out of memory"),
        ({"detail": "out of memory"}, "out of memory"),
        ({"error": "out of memory"}, "out of memory"),
        ({"message": "out of memory"}, "out of memory"),
    ],
)
def test_an_error_is_one_whatever_its_status(hostile: Hostile, body: Any, says: str) -> None:
    for chat in (lambda t: t.stream(data(body)), lambda t: t.json(body), lambda t: t.json(body, 500)):
        hostile.chat = chat
        with pytest.raises(TargetError, match=says):
            ask(hostile)


def test_a_page_of_a_proxy_is_told_by_its_title(hostile: Hostile) -> None:
    page = b"<!DOCTYPE html><html><head><title>502 Bad\nGateway &amp; more</title></head><body>" + b"x" * 9000
    hostile.chat = lambda talk: talk.reply(502, page, "text/html")
    with pytest.raises(TargetError, match=r"failed \(502: 502 Bad Gateway & more\)"):
        ask(hostile)
    hostile.chat = lambda talk: talk.reply(502, b"<html><p>", "text/html")
    with pytest.raises(TargetError, match=r"a page of HTML"):
        ask(hostile)


REFUSALS = {
    "OpenAI": lambda name: {"error": {"message": f"Unsupported parameter: '{name}' is not supported with this model.",
                                      "param": name, "code": "unsupported_parameter"}},
    "FastAPI": lambda name: {"detail": [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs"}]},
    "Go": lambda name: {"message": f'json: unknown field "{name}"'},
    "far behind": lambda name: {"error": "x" * 500 + f" {name}"},
}  # fmt: skip


@pytest.mark.parametrize("form", REFUSALS)
@pytest.mark.parametrize("name", ["max_tokens", "temperature", "top_p", "seed", "stream_options"])
def test_fields_that_a_server_refuses_are_left_out_from_then_on(hostile: Hostile, name: str, form: str) -> None:
    def chat(talk: Talk) -> None:
        refused = name in talk.document
        talk.json(REFUSALS[form](name), 400) if refused else talk.stream(*GOOD)

    hostile.chat, sampling = chat, Sampling(temperature=0.5, max_tokens=9)
    for _ in range(2):
        assert ask(hostile, sampling).text == "Hello"  # by a target that is opened anew
    first, *later = (talk.document for talk in hostile.chats)
    assert [name in one for one in (first, *later)] == [True, False, False]
    assert all(one.get("max_tokens", one.get("max_completion_tokens")) == 9 for one in later)
    assert first.keys() - later[0].keys() == {name}


@pytest.mark.parametrize(("stop", "text"), [("lo", "Hel"), ("el", "H"), ("o!", "Hello"), ("Hello", "")])
def test_a_stop_string_ends_an_answer_of_a_server_that_does_not_take_it(hostile: Hostile, stop: str, text: str) -> None:
    refuse = lambda talk: talk.json(REFUSALS["OpenAI"]("stop"), 400)  # noqa: E731
    hostile.chat = lambda talk: refuse(talk) if "stop" in talk.document else talk.stream(*GOOD)
    pieces = list[str]()
    answer = ask(hostile, Sampling(max_tokens=9, stop=(stop,)), on_text=pieces.append)
    assert (answer.text, "".join(pieces), answer.finish) == (text, text, "stop")
    hostile.chat = lambda talk: talk.stream(*GOOD)
    assert ask(hostile, Sampling(max_tokens=9)).text == "Hello"
    assert "stop" not in hostile.chats[-1].document


def test_several_fields_may_be_refused_one_after_the_other(hostile: Hostile) -> None:
    refused = ["temperature", "max_tokens", "seed", "chat_template_kwargs"]

    def chat(talk: Talk) -> None:
        found = next((one for one in refused if one in talk.document), None)
        talk.json(REFUSALS["OpenAI"](found), 400) if found else talk.stream(*GOOD)

    hostile.chat = chat
    assert ask(hostile, Sampling(temperature=0.5, max_tokens=9)).text == "Hello"
    assert len(hostile.chats) == 5


def test_a_field_whose_value_is_refused_stays(hostile: Hostile) -> None:
    def chat(talk: Talk) -> None:
        limit = talk.document.get("max_tokens") or talk.document.get("max_completion_tokens")
        talk.json({"error": {"message": f"max_tokens {limit} > 8"}}, 400) if limit > 8 else talk.stream(*GOOD)

    hostile.chat = chat
    with pytest.raises(TargetError, match="max_tokens 9 > 8"):
        ask(hostile)
    assert ask(hostile, Sampling(max_tokens=8)).text == "Hello"
    assert hostile.chats[-1].document["max_tokens"] == 8


@pytest.mark.parametrize("schema", [None, {"type": "object"}])
def test_a_format_goes_out_as_it_came_and_its_refusal_is_an_error(hostile: Hostile, schema: Any) -> None:
    wanted = AnswerFormat(schema, {"name": "n"}, "text.format")
    assert ask(hostile, format=wanted).text == "Hello"
    assert hostile.chats[0].document["response_format"] == wanted.document
    hostile.chat = lambda talk: talk.json(REFUSALS["OpenAI"]("response_format"), 400)
    with pytest.raises(SchemaError, match=r"does not take text.format: .*'response_format' is not supported"):
        ask(hostile, format=wanted)


def listing(*names: str) -> Any:
    return lambda talk: talk.json({"object": "list", "data": [{"id": name} for name in names]})


@pytest.mark.parametrize(
    ("wanted", "listed", "found"),
    [
        ("coder:7b", listing("coder:3b", "coder:7b"), "coder:7b"),
        ("coder", listing("coder:7b", "coder:latest"), "coder:latest"),
        ("coder:latest", listing("coder", "other"), "coder"),
        ("hf.co/a/b:Q4_K_M", listing("hf.co/a/b:Q4_K_M"), "hf.co/a/b:Q4_K_M"),
        ("org/coder:provider", listing("org/coder", "other"), "org/coder:provider"),
        ("", lambda talk: talk.json([{"id": "alone"}]), "alone"),
        ("x", lambda talk: talk.json({}, 404), "x"),
    ],
)
def test_a_model_is_found_by_its_name_and_tag(hostile: Hostile, wanted: str, listed: Any, found: str) -> None:
    hostile.models = listed
    assert opened(hostile, wanted).model == found


def test_a_model_that_ollama_does_not_have_can_be_fetched(hostile: Hostile) -> None:
    hostile.models = listing("other:3b")
    hostile.pages = {"/api/version": lambda talk: talk.json({"version": "0.33"})}
    with pytest.raises(ModelNotFoundError, match=r"has no model coder:7b .*ollama pull coder:7b.*: other:3b"):
        opened(hostile, "coder:7b")
    hostile.models, hostile.pages = lambda talk: talk.json({"data": None}), {}
    with pytest.raises(WinnowError, match=r"has no model coder:7b: .*none"):
        opened(hostile, "coder:7b")


def test_an_event_of_countless_lines_is_refused(hostile: Hostile) -> None:
    hostile.chat = lambda talk: talk.stream(b"data:1\n" * 600_000)
    with pytest.raises(TargetError, match="a line of over"):
        ask(hostile)
