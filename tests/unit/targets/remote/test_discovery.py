"""Servers on this machine are found, told apart, and asked for nothing but what they serve."""

import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from winnow_engine.targets.remote.address import KEY_VARIABLE, parse
from winnow_engine.targets.remote.discovery import FoundModel, discover, hosts

from ....ollama_server import serving
from ..hostile import Hostile, Talk

OTHERS = ("127.0.0.1:1234", "127.0.0.1:8080", "127.0.0.1:8000", "127.0.0.1:30000")
PAGES = {"/v1/models", "/api/version", "/api/tags", "/props"}


def found(hostile: Hostile) -> tuple[FoundModel, ...]:
    return discover((hostile.url.removeprefix("http://"),))


def lists(hostile: Hostile, *entries: Any, **pages: Any) -> None:
    hostile.models = lambda talk: talk.json({"object": "list", "data": list(entries)})
    hostile.pages = {f"/{name}": lambda talk, page=page: talk.json(page) for name, page in pages.items()}


@pytest.fixture
def ollama() -> Iterator[str]:
    with serving() as url:
        yield url


def test_ollamas_models_that_chat_here_are_found(ollama: str) -> None:
    host = ollama.removeprefix("http://")
    assert discover((host,)) == (
        FoundModel(f"http://{host}/v1#coder:7b", "Ollama 0.33.0", "coder:7b", None),
        FoundModel(f"http://{host}/v1#thinker:8b", "Ollama 0.33.0", "thinker:8b", None),
    )
    log = httpx.get(f"{ollama}/log").json()
    assert {(method, path, document) for method, path, _, document in log} == {("GET", page, None) for page in PAGES}


def test_a_busy_ollama_is_still_told_apart(hostile: Hostile) -> None:
    def slowly(talk: Talk) -> None:
        time.sleep(1.2)
        talk.json({"version": "0.33.0"})

    lists(hostile, {"id": "m:7b", "owned_by": "library"}, **{"api/tags": {"models": [{"name": "m:7b"}]}})
    hostile.pages["/api/version"] = slowly
    assert [model.server for model in found(hostile)] == ["Ollama 0.33.0"]


@pytest.mark.parametrize(
    ("entry", "server", "context"),
    [
        ({"owned_by": "vllm", "max_model_len": 32_768}, "vLLM", 32_768),
        ({"owned_by": "sglang", "max_model_len": 8192}, "SGLang", 8192),
        ({"owned_by": "llamacpp", "meta": {"n_ctx_train": 131_072}}, "llama-server", 4096),
        ({"owned_by": "llamacpp", "meta": {"n_ctx": 16_384}}, "llama-server", 16_384),
        ({"owned_by": "organization_owner"}, "LM Studio", 4096),
        ({"owned_by": ["odd"]}, "an OpenAI-compatible server", 4096),
        ({}, "an OpenAI-compatible server", 4096),
    ],
)
def test_servers_are_told_apart_by_what_they_say(
    hostile: Hostile, entry: dict[str, Any], server: str, context: int
) -> None:
    lists(hostile, {"id": "m", **entry}, props={"default_generation_settings": {"n_ctx": 4096}})
    assert found(hostile) == (FoundModel(f"{hostile.url}/v1#m", server, "m", context),)


def test_a_url_that_was_found_leads_to_the_model_however_it_is_called(hostile: Hostile) -> None:
    names = ["Qwen/Qwen3 Coder#1", "C:\\models\\a b.gguf", "100%", "modèle", "$(reboot)", "a'b\"c"]
    lists(hostile, *({"id": name} for name in names))
    assert [parse(model.url).model for model in found(hostile)] == names == [model.model for model in found(hostile)]


def test_names_that_a_terminal_would_obey_are_left_out(hostile: Hostile) -> None:
    bad = ["", "\x1b[2J", "two\nlines", "\u202egpj", "x" * 201, None, 5, ["m"], {}]
    lists(hostile, *({"id": name} for name in bad), "m", None, {"id": "sound"})
    assert [model.model for model in found(hostile)] == ["sound"]
    assert len(discover((hostile.url.removeprefix("http://"),) * 2)) == 2


def test_no_key_goes_out_and_no_proxy_is_asked(hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, "sk-secret")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    assert len(found(hostile)) == 1
    assert {path for path, _ in hostile.seen} == PAGES
    for _, talk in hostile.seen:
        assert talk.handler.command == "GET"
        assert "authorization" not in {name.lower() for name in talk.headers}


def test_a_winnow_is_no_target_for_another(hostile: Hostile) -> None:
    lists(hostile, {"id": "m", "owned_by": "winnow"})
    assert found(hostile) == ()


ODD = {
    "a page": lambda talk: talk.reply(200, b"<html>", "text/html"),
    "an error": lambda talk: talk.json({"data": [{"id": "m"}]}, status=500),
    "a key is wanted": lambda talk: talk.json({"error": "no"}, status=401),
    "a redirect": lambda talk: talk.reply(302, b"", Location="http://127.0.0.1:1/v1/models"),
    "a list": lambda talk: talk.json([{"id": "m"}]),
    "null": lambda talk: talk.json({"data": None}),
    "a text": lambda talk: talk.json({"data": "m"}),
    "nested": lambda talk: talk.reply(200, b"[" * 100_000),
    "a huge number": lambda talk: talk.reply(200, b'{"data": ' + b"9" * 5000 + b"}"),
    "too long": lambda talk: talk.reply(200, json.dumps({"data": [{"id": "m"}], "x": "x" * (1 << 20)}).encode()),
    "not UTF-8": lambda talk: talk.reply(200, b'{"data": "\xff"}'),
    "compressed": lambda talk: talk.reply(200, b"\x1f\x8b", Content_Encoding="gzip"),
    "reset": lambda talk: talk.reset(),
    "silence": lambda talk: talk.until_left(),
    "a byte now and then": lambda talk: talk.stream(*(b" ",) * 40, pause_s=0.05, content_type="application/json"),
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_what_answers_strangely_is_left_out(hostile: Hostile, odd: Any) -> None:
    hostile.models = odd
    assert found(hostile) == ()


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_odd_pages_beside_a_sound_list_cost_only_what_they_would_say(hostile: Hostile, odd: Any) -> None:
    lists(hostile, {"id": "m"})
    hostile.pages = dict.fromkeys(("/api/version", "/api/tags", "/props"), odd)
    assert [(model.model, model.context) for model in found(hostile)] == [("m", None)]


def test_a_redirect_is_not_followed(hostile: Hostile) -> None:
    hostile.models = lambda talk: talk.reply(302, b"", Location="/elsewhere")
    found(hostile)
    assert [path for path, _ in hostile.seen] == ["/v1/models"]


@pytest.mark.parametrize(
    ("variable", "host"),
    [
        (None, "127.0.0.1:11434"),
        ("", "127.0.0.1:11434"),
        ("127.0.0.1:1", "127.0.0.1:1"),
        ("localhost", "localhost:11434"),
        (":1", "127.0.0.1:1"),
        ("0.0.0.0", "127.0.0.1:11434"),
        ("0.0.0.0:1", "127.0.0.1:1"),
        ("[::]:1", "[::1]:1"),
        ("[::1]", "[::1]:11434"),
        ("http://127.0.0.1", "127.0.0.1:80"),
        ("http://127.0.0.1:1/path", "127.0.0.1:1"),
        ("https://127.0.0.1:1", "127.0.0.1:11434"),
        ("gpu.example.org", "127.0.0.1:11434"),
        ("192.168.1.5:1", "127.0.0.1:11434"),
        ("127.0.0.1:port", "127.0.0.1:11434"),
        ("[", "127.0.0.1:11434"),
    ],
)
def test_ollamas_host_is_taken_if_it_is_this_machine(variable: str | None, host: str) -> None:
    environment = {} if variable is None else {"OLLAMA_HOST": variable}
    assert hosts(environment) == (host, *OTHERS)
