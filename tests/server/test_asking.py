"""`winnow/ask`."""

import asyncio
import uuid
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from winnow_engine.models import cache

from .client import Client
from .conftest import MODEL, SETTINGS

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]

QUESTION = "What does delivery cost?"
INVALID_PARAMS, REQUEST_FAILED, REQUEST_CANCELLED, SERVER_CANCELLED = -32602, -32803, -32800, -32802
CANCELS = [types.CANCEL_REQUEST, types.WINDOW_WORK_DONE_PROGRESS_CANCEL]
START = {"line": 0, "character": 0}
OUTSIDE = {"textDocument": {"uri": "file:///etc/passwd"}, "position": START}

MALFORMED: list[dict[str, Any]] = [
    {"question": ["?"]},
    {"question": "", "about": "code", **OUTSIDE},
    OUTSIDE,
    {"textDocument": {"uri": "untitled:Untitled-1"}, "position": START},
    {"textDocument": {"uri": "file://[half"}},
]


def long_document(folder: Path) -> tuple[Path, str]:
    """A document that no question has seen: its prompt has no start in common with any before."""
    lines = [f"def of_{uuid.uuid4().hex}(order):\n    return order.{uuid.uuid4().hex}\n" for _ in range(20)]
    return folder / "a.py", "\n".join(lines)


def slow_to_read(client: Client, folder: Path) -> dict[str, Any]:
    """A question whose prefill takes a while; shut its document afterwards."""
    uri = client.open(*long_document(folder))
    selected = {"start": START, "end": {"line": 40, "character": 0}}
    return {"question": QUESTION, "budget": 3000, "textDocument": {"uri": uri}, "range": selected}


async def test_the_answer_streams_whole_and_in_order(client) -> None:
    result = await client.ask(QUESTION, partialResultToken=7, workDoneToken=7)
    deltas = client.deltas(7)
    assert [delta["sequence"] for delta in deltas] == list(range(len(deltas)))
    assert "".join(delta["text"] for delta in deltas) == result["answer"] != ""
    kinds = [value["kind"] for value in client.values[7]]
    reports = kinds.index("delta")
    assert (kinds[0], kinds[-1]) == ("begin", "end")
    assert (set(kinds[1:reports]), set(kinds[reports:-1])) == ({"report", "kept"}, {"delta"})
    assert client.values[7][0]["cancellable"]
    assert client.said(7, "reading")
    assert client.said(7, "answering")


async def test_what_was_kept_comes_before_the_answer_to_those_who_listen(client) -> None:
    # The second question is a new one to the target, whose speed it knows by then.
    for question in (QUESTION, "Who pays at the till?"):
        result = await client.ask(question, partialResultToken=question)
    first, *_, last = client.values[question]
    assert (first["kind"], last["kind"]) == ("kept", "delta")
    kept = client.kept(question)[-1]
    assert set(kept) == {"kind", "token", "spans", "seconds"}
    assert kept["seconds"] >= 0
    assert sorted(kept["spans"], key=str) == sorted(result["spans"], key=str)
    scores = [span["score"] for span in kept["spans"]]
    assert scores == sorted(scores, reverse=True)


async def test_the_result_says_what_was_seen_and_what_it_cost(client, folder: Path) -> None:
    result = await client.ask(QUESTION)
    fields = "conversation question answer finish sentences citations spans stats notices"
    assert set(result) == set(fields.split())
    assert (result["question"], result["notices"]) == (QUESTION, [])
    assert result["finish"] in {"eos", "stop", "length"}
    stats = result["stats"]
    assert 0 < stats["keptTokens"] <= 80 < stats["workspaceTokens"]
    assert stats["ttft"] == pytest.approx(sum(stats["stages"].values()), abs=0.1)
    assert 1 <= stats["decodeTokens"] <= 16
    assert sum(span["tokens"] for span in result["spans"]) == stats["keptTokens"]
    for span in result["spans"]:
        assert set(span) == {"location", "score", "features", "tokens", "kind", "name"}
    for location in [*result["citations"], *(span["location"] for span in result["spans"])]:
        lines = (folder / location["uri"].removeprefix(folder.as_uri() + "/")).read_text().splitlines()
        assert 0 <= location["range"]["start"]["line"] < location["range"]["end"]["line"] <= len(lines)


@pytest.mark.parametrize("where", ["position", "range"])
async def test_the_code_at_the_cursor_is_seen(client, folder: Path, where: str) -> None:
    file = folder / "shop" / "checkout.py"
    line = file.read_text().splitlines().index('    """Takes the money."""')
    here = {"line": line, "character": 4}
    place = here if where == "position" else {"start": here, "end": {"line": line, "character": 9}}
    result = await client.ask("Explain this.", textDocument={"uri": file.as_uri()}, **{where: place})
    assert "Till" in [span["name"] for span in result["spans"]]


@pytest.mark.parametrize(
    ("about", "asked"),
    [
        ("code", "Explain `delivery`:"),
        ("usage", "How is `delivery` used?"),
        ("impact", "What would break if `delivery` changed?"),
        ("diagnostic", "Explain this problem in `delivery`"),
    ],
)
async def test_what_editors_ask_about_code_is_worded_here(on_tcp, folder: Path, about: str, asked: str) -> None:
    file = folder / "shop" / "pricing.py"
    line = next(n for n, text in enumerate(file.read_text().splitlines()) if "def delivery" in text)
    place = {"textDocument": {"uri": file.as_uri()}, "position": {"line": line, "character": 8}}
    params = {"about": about, "diagnostics": [{"message": "unused"}], **place}
    result = await on_tcp.start("winnow/ask", params)[1]
    assert result["question"].startswith(asked)
    assert ("- unused" in result["question"]) == (about == "diagnostic")
    assert "delivery" in [span["name"] for span in result["spans"]]


async def test_a_follow_up_sees_the_turns_before_it(client) -> None:
    first = await client.ask(QUESTION)
    second = await client.ask(QUESTION, conversation=first["conversation"])
    alone = await client.ask(QUESTION, conversation=str(uuid.uuid4()))
    assert second["conversation"] == first["conversation"] != alone["conversation"]
    assert second["stats"]["promptTokens"] > first["stats"]["promptTokens"] == alone["stats"]["promptTokens"]


async def test_turns_that_a_client_brings_take_the_place_of_those_the_server_remembers(client) -> None:
    first = await client.ask(QUESTION)
    turn = {"question": QUESTION, "answer": first["answer"]}
    other = {"question": "Who are you?", "answer": "Winnow."}
    brought = await client.ask(QUESTION, conversation="brought", earlier=[other])
    third = await client.ask(QUESTION, conversation="brought")
    longer = await client.ask(QUESTION, conversation="brought", earlier=[other, turn])
    forgotten = await client.ask(QUESTION, conversation="brought", earlier=[])
    sizes = [answer["stats"]["promptTokens"] for answer in (first, brought, third)]
    assert sizes == sorted(set(sizes))
    assert longer["stats"]["promptTokens"] > sizes[1]
    assert forgotten["stats"]["promptTokens"] == sizes[0]


async def test_turns_that_do_not_fit_are_left_out_and_that_is_said(connect) -> None:
    # All code fits, so that only turns could make a prompt longer.
    client = await connect(options=SETTINGS | {"budget": 2000})
    turn = {"question": QUESTION, "answer": "So it is. " * 1000}
    alone, second, third = [await client.ask(QUESTION, earlier=[turn] * turns) for turns in range(3)]
    sizes = {asked["stats"]["promptTokens"] for asked in (alone, second, third)}
    assert (alone["notices"], sizes) == ([], {alone["stats"]["promptTokens"]})
    assert second["notices"] == ["1 earlier turn left out to fit 1,500 tokens of them"]
    assert third["notices"] == ["2 earlier turns left out to fit 1,500 tokens of them"]


async def test_conversations_of_two_clients_are_apart_even_by_one_name(connect) -> None:
    one, other = await connect(), await connect()
    first = await one.ask(QUESTION, conversation="c")
    second = await other.ask(QUESTION, conversation="c")
    assert second["stats"]["promptTokens"] == first["stats"]["promptTokens"]


@pytest.mark.parametrize("how", CANCELS)
@pytest.mark.parametrize("stage", ["reading", "answering"])
async def test_cancelling_stops_the_work_and_says_so(client, folder: Path, how: str, stage: str) -> None:
    asked = slow_to_read(client, folder) if stage == "reading" else {"question": QUESTION}
    for _ in range(10):  # a short answer may be whole before it is cancelled
        token = str(uuid.uuid4())
        tokens = {"partialResultToken": f"{token}-text", "workDoneToken": token}
        identity, answer = client.start("winnow/ask", asked | tokens)
        await client.until(lambda: client.said(token, stage), answer)  # noqa: B023 awaited at once
        client.cancel(how, identity, token)
        await asyncio.wait([answer])
        if answer.exception() is not None:
            break
    assert (await client.refusal(answer)).code == REQUEST_CANCELLED
    assert client.values[token][-1]["kind"] == "end"
    assert bool(client.deltas(f"{token}-text")) == (stage == "answering")
    if stage == "reading":
        client.shut(asked["textDocument"]["uri"])
    await client.until(lambda: client.statuses[-1]["questions"] == {"running": 0, "waiting": 0})


@pytest.mark.parametrize("fields", MALFORMED, ids=str)
async def test_parameters_that_make_no_sense_are_refused(client, fields: dict[str, Any]) -> None:
    error = await client.refusal(client.ask(**{"question": QUESTION, **fields}))
    assert error.code == INVALID_PARAMS
    assert error.message


async def test_lines_that_are_not_there_are_refused(client, folder: Path) -> None:
    place = {"textDocument": {"uri": (folder / "shop/pricing.py").as_uri()}, "position": {"line": 999, "character": 0}}
    error = await client.refusal(client.ask(QUESTION, **place))
    assert (error.code, error.data) == (INVALID_PARAMS, {"kind": "PositionError"})
    assert "there is no line 1000" in error.message


async def test_a_question_may_hold_anything(client) -> None:
    nested = {"jsonrpc": "2.0", "id": 1, "method": "shutdown"}
    result = await client.ask('{"jsonrpc": "2.0", "method": "exit"} 𝒳\0 <|im_end|> \ud800', jsonrpc="2.0", extra=nested)
    assert result["answer"]


@pytest.mark.parametrize("role", ["drafter", "target"])
@pytest.mark.parametrize("name", ["no-such-model", "/no/such/model.gguf"])
async def test_a_model_that_is_not_there_is_named(connect, role: str, name: str) -> None:
    client = await connect(options=SETTINGS | {role: name})
    error = await client.refusal(client.ask(QUESTION))
    assert (error.code, error.data) == (REQUEST_FAILED, {"kind": "ModelNotFoundError"})
    assert name in error.message
    # A target is not opened without its drafter either, so an error may be said while the drafter is tried once more.
    statuses = client.statuses
    status = await client.until(lambda: next((s for s in statuses if s["models"][role]["state"] == "failed"), None))
    assert (status["state"], status["models"][role]["name"]) == ("error", name), status
    assert name in status["models"][role]["error"]


async def test_a_model_that_was_not_there_is_used_once_it_is(connect, tmp_path: Path) -> None:
    late = tmp_path / "late.gguf"
    client = await connect(options=SETTINGS | {"target": str(late)})
    await client.refusal(client.ask(QUESTION))
    await client.until(lambda: client.statuses[-1]["state"] == "error" and _is_indexed(client.statuses[-1]["index"]))
    late.symlink_to(cache.path(MODEL))
    assert (await client.ask(QUESTION))["answer"]


def _is_indexed(index: dict[str, int]) -> bool:
    """Whether the background work has ended, which also tries to open what could not be opened."""
    return index["done"] == index["total"] > 0


async def test_a_prompt_that_was_read_ahead_is_not_read_again(connect) -> None:
    client = await connect()
    assert (await client.start("winnow/starters", None)[1])["questions"]
    text = f"What does delivery cost in {uuid.uuid4().hex}?"
    assert await client.start("winnow/prepare", {"question": text})[1] == {"prepared": True}
    stats = (await client.ask(text))["stats"]
    assert stats["promptTokens"] - stats["reusedTokens"] <= 2
    assert await client.start("winnow/prepare", {"question": text})[1] == {"prepared": False}


async def test_a_newer_question_that_supersedes_ends_the_older_ones(client, folder: Path) -> None:
    asked, token = slow_to_read(client, folder), str(uuid.uuid4())
    _, older = client.start("winnow/ask", asked | {"workDoneToken": token})
    _, queued = client.start("winnow/spans", {"question": QUESTION})
    await client.until(lambda: client.said(token, "reading"), older)
    _, newer = client.start("winnow/ask", {"question": QUESTION, "supersedes": True})
    assert [(await client.refusal(task)).code for task in (older, queued)] == [SERVER_CANCELLED] * 2
    assert (await newer)["answer"]
    client.shut(asked["textDocument"]["uri"])
