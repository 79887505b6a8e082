"""The setting `winnow.target` as a URL: a server that answers, one that breaks off, and one on another machine."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ..unit.targets.hostile import DONE, GOOD, MODEL, Hostile, Talk, delta, event, large, served
from .client import PATIENCE_S
from .conftest import SETTINGS

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]

QUESTION = "What does delivery cost?"
REQUEST_CANCELLED = -32800


@pytest.fixture
def hostile() -> Iterator[Hostile]:
    with served(Hostile(models=large)) as hostile:
        yield hostile


def settings(url: str) -> dict[str, Any]:
    return {**SETTINGS, "target": url}


async def test_a_server_answers_in_place_of_a_local_model(connect, hostile: Hostile) -> None:
    client = await connect(options=settings(hostile.url))
    result = await client.ask(QUESTION, partialResultToken="text")
    assert result["answer"] == "Hello" == "".join(delta["text"] for delta in client.deltas("text"))
    assert "targetHost" not in result["stats"]
    (talk,) = hostile.chats
    assert QUESTION in talk.document["messages"][-1]["content"]
    assert "def delivery" in talk.document["messages"][-1]["content"]


async def test_a_thought_is_neither_cited_nor_part_of_the_next_prompt(connect, hostile: Hostile) -> None:
    client = await connect(options={**settings(hostile.url), "thinking": "on"})
    thought = "Secretly, `delivery()` is at pricing.py:1."
    said = [
        event(),
        *(event(c) for c in ("<thi", "nk>\n", thought, "\n</thi", "nk>\n\nH", "ello")),
        event(finish="stop"),
        DONE,
    ]
    hostile.chat = lambda talk: talk.stream(*said)
    asked = {"conversation": "c", "partialResultToken": "text", "workDoneToken": "stages"}
    result = await client.ask(QUESTION, **asked)
    deltas = client.deltas("text")
    assert result["answer"] == "Hello" == "".join(delta["text"] for delta in deltas)
    assert result["thinking"]["text"] == thought == "".join(delta.get("thinking", "") for delta in deltas)
    assert result["thinking"]["tokens"] > 0
    assert result["citations"] == []
    await client.ask("And to Norway?", conversation="c")
    sent = hostile.chats[-1].document["messages"]
    assert "Hello" in [message["content"] for message in sent]
    assert "Secretly" not in repr(sent)


async def test_a_server_that_turns_out_to_think_gets_a_shorter_prompt(connect, hostile: Hostile) -> None:
    hostile.models = lambda talk: talk.json({"data": [{"id": MODEL, "max_model_len": 700}]})
    hostile.chat = lambda talk: talk.stream(delta(reasoning="Hm."), event("Hello"), event(finish="stop"), DONE)
    client = await connect(options={**settings(hostile.url), "budget": 400})
    assert (await client.ask(QUESTION))["answer"] == "Hello"
    first, second = (talk.document for talk in hostile.chats)
    assert len(second["messages"][-1]["content"]) < len(first["messages"][-1]["content"])
    assert (first["max_tokens"], second["max_tokens"]) == (16, 16 + 700 // 4 + 16)


async def test_what_a_server_said_until_it_was_killed_is_kept_and_noted(connect, hostile: Hostile) -> None:
    client = await connect(options=settings(hostile.url))

    def killed(talk: Talk) -> None:
        talk.stream(*GOOD[:2])
        talk.reset()

    hostile.chat = killed
    cut = await client.ask(QUESTION)
    assert cut["answer"]
    assert any("in the middle" in notice for notice in cut["notices"])
    hostile.chat = lambda talk: talk.stream(*GOOD, DONE)
    assert (await client.ask(QUESTION))["answer"] == "Hello"


@pytest.mark.parametrize("changed", ["pricing", "checkout"])
async def test_a_cited_file_that_changes_during_the_answer_is_named(
    connect, hostile: Hostile, own_folder: Path, changed: str
) -> None:
    def switching(talk: Talk) -> None:
        (own_folder / f"shop/{changed}.py").unlink()
        talk.stream(event("See pricing.py:1."), event(finish="stop"), DONE)

    hostile.chat = switching
    result = await (await connect(own_folder, options=settings(hostile.url))).ask(QUESTION)
    assert len(result["citations"]) == 1
    assert any("changed during the answer" in one for one in result["notices"]) == (changed == "pricing")


async def test_cancelling_reaches_the_server(connect, hostile: Hostile) -> None:
    client, left = await connect(options=settings(hostile.url)), threading.Event()

    def stream(talk: Talk) -> None:
        talk.stream(GOOD[0])
        talk.until_left()
        left.set()

    hostile.chat = stream
    identity, answer = client.start("winnow/ask", {"question": QUESTION, "partialResultToken": "cancelled"})
    await client.until(lambda: client.deltas("cancelled"), answer)
    client.cancel("$/cancelRequest", identity, "")
    assert (await client.refusal(answer)).code == REQUEST_CANCELLED
    assert await asyncio.to_thread(left.wait, PATIENCE_S)


async def test_another_machine_is_named_before_anything_is_sent(connect) -> None:
    client = await connect(options=settings("https://gpu.invalid/v1"))
    failed = await client.until(
        lambda: next((s for s in client.statuses if s["models"]["target"]["state"] == "failed"), None)
    )
    assert failed["models"]["target"]["host"] == "gpu.invalid"
    assert "answers come from gpu.invalid; your code is sent there" in [m.message[8:] for m in client.messages]
    error = await client.refusal(client.ask(QUESTION))
    assert error.data["kind"] == "TargetUnreachableError"


@pytest.mark.parametrize("url", ["http://gpu.example.org/v1", "http://user:secret@127.0.0.1/v1"])
async def test_a_url_that_is_refused_says_why(connect, url: str) -> None:
    client = await connect(options=settings(url))
    error = await client.refusal(client.ask(QUESTION))
    assert error.data["kind"] == "TargetAddressError"
    assert "secret" not in error.message
