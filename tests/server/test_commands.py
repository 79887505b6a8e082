"""`workspace/executeCommand`: what plain clients ask with, and how they are shown the answer."""

import asyncio
import re
import shutil
import uuid
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from lsprotocol import types

from .capabilities import EDITORS, EVERYTHING, PLAIN
from .conftest import SETTINGS

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]

QUESTION = "What does delivery cost?"
INVALID_PARAMS, REQUEST_FAILED, REQUEST_CANCELLED = -32602, -32803, -32800
CANCELS = [types.CANCEL_REQUEST, types.WINDOW_WORK_DONE_PROGRESS_CANCEL]
COMMANDS = ["winnow.ask", "winnow.explain", "winnow.showSpans", "winnow.edit", "winnow.reindex", "winnow.cancel"]
COMMANDS += ["winnow.review", "winnow.commitMessage"]
START = {"line": 0, "character": 0}
HERE = {"start": START, "end": START}


def page_file(client) -> Path:
    """The file that was shown last."""
    return Path(unquote(urlsplit(client.shown_documents[-1].uri).path))


def page(client) -> str:
    return page_file(client).read_text(encoding="utf-8")


def function(file: Path, name: str) -> dict[str, Any]:
    """The arguments of a command about a function, by a cursor on its name."""
    line = next(n for n, text in enumerate(file.read_text().splitlines()) if f"def {name}" in text)
    at = {"line": line, "character": 8}
    return {"textDocument": {"uri": file.as_uri()}, "range": {"start": at, "end": at}}


async def test_all_commands_are_announced(client) -> None:
    assert list(client.started.capabilities.execute_command_provider.commands) == COMMANDS


async def test_ask_returns_the_answer_and_shows_it(client) -> None:
    result = await client.run("winnow.ask", {"question": QUESTION})
    text = page(client)
    assert text.startswith(f"# {QUESTION}\n")
    assert result["answer"].strip() in text


async def test_explain_asks_about_the_symbol_at_the_cursor(client, folder: Path) -> None:
    place = function(folder / "shop" / "pricing.py", "delivery")
    result = await client.run("winnow.explain", place | {"about": "usage"})
    assert result["answer"]
    assert page(client).startswith("# How is `delivery` used?")


async def test_show_spans_shows_what_would_be_kept(client) -> None:
    result = await client.run("winnow.showSpans", {"question": QUESTION})
    assert set(result) == {"question", "spans", "stats", "notices"}
    text = page(client)
    assert "tokens kept." in text
    assert text.count("\n- [") == len(result["spans"])


async def test_reindex_shows_progress_and_returns_nothing(client) -> None:
    token = str(uuid.uuid4())
    assert await client.run("winnow.reindex", workDoneToken=token) is None
    kinds = [value["kind"] for value in client.values[token]]
    assert (kinds[0], kinds[-1]) == ("begin", "end")


async def test_cancel_ends_all_questions_of_this_client_and_no_others(on_tcp, connect) -> None:
    other = await connect()
    asked = [on_tcp.start("winnow/ask", {"question": QUESTION, "workDoneToken": "first"})[1]]
    await on_tcp.until(lambda: on_tcp.values["first"])
    command = {"command": "winnow.ask", "arguments": [{"question": QUESTION}], "workDoneToken": "second"}
    asked += [on_tcp.start(types.WORKSPACE_EXECUTE_COMMAND, command)[1]]
    asked += [on_tcp.start("winnow/spans", {"question": QUESTION})[1]]
    await on_tcp.until(lambda: on_tcp.values["second"])
    spared = asyncio.ensure_future(other.ask(QUESTION))
    assert await on_tcp.run("winnow.cancel") is None
    assert [(await on_tcp.refusal(task)).code for task in asked] == [REQUEST_CANCELLED] * 3
    assert (await spared)["answer"]


@pytest.mark.parametrize("how", CANCELS)
@pytest.mark.parametrize("command", ["winnow.ask", "winnow.explain", "winnow.showSpans", "winnow.reindex"])
async def test_cancelling_a_command_stops_its_work(on_tcp, folder: Path, how: str, command: str) -> None:
    lines = [f"def of_{uuid.uuid4().hex}():\n    return {number}\n" for number in range(100)]
    uri, token = on_tcp.open(folder / "a.py", "\n".join(lines)), str(uuid.uuid4())
    arguments = {
        "winnow.explain": [{"about": "code", "textDocument": {"uri": uri}, "range": HERE}],
        "winnow.reindex": [],
    }.get(command, [{"question": QUESTION}])
    params = {"command": command, "arguments": arguments, "workDoneToken": token}
    shown = len(on_tcp.shown_documents)
    identity, answer = on_tcp.start(types.WORKSPACE_EXECUTE_COMMAND, params)
    await on_tcp.until(lambda: on_tcp.values[token], answer)
    on_tcp.cancel(how, identity, token)
    assert (await on_tcp.refusal(answer)).code == REQUEST_CANCELLED
    assert on_tcp.values[token][-1]["kind"] == "end"
    assert len(on_tcp.shown_documents) == shown
    on_tcp.shut(uri)
    await on_tcp.until(lambda: on_tcp.statuses[-1]["questions"] == {"running": 0, "waiting": 0})


@pytest.mark.parametrize("capabilities", [EVERYTHING, EDITORS["neovim"]], ids=["everything", "neovim"])
async def test_pages_of_a_client_that_shows_documents_are_temporary_files(connect, capabilities) -> None:
    client = await connect(capabilities=capabilities)
    await client.run("winnow.showSpans", {"question": QUESTION})
    assert client.shown_documents[0].take_focus
    file = page_file(client)
    assert file.name == "what-does-delivery-cost.md"
    assert page(client).startswith(f"# {QUESTION}\n")
    links = re.findall(r"\]\((\.\./[^)#]+)#L\d+\)", page(client))  # a preview does not follow those with `file:`
    assert links
    assert all((file.parent / unquote(link)).is_file() for link in links)
    shutil.rmtree(next(folder for folder in file.parents if folder.name.startswith("winnow-")))  # as systems clean up
    await client.run("winnow.showSpans", {"question": QUESTION})
    assert page_file(client).exists()
    await client.leave()
    assert not page_file(client).parent.exists()


@pytest.mark.parametrize("capabilities", [PLAIN, EDITORS["eglot"]], ids=["plain", "eglot"])
async def test_pages_of_a_client_that_shows_nothing_are_messages(connect, capabilities) -> None:
    client = await connect(capabilities=capabilities)
    await client.run("winnow.showSpans", {"question": QUESTION})
    shown = await client.until(lambda: client.messages[-1:])
    assert (shown[0].type, shown[0].message.startswith(f"# {QUESTION}")) == (types.MessageType.Info, True)


@pytest.mark.parametrize("command", ["winnow.ask", "winnow.explain", "winnow.showSpans"])
async def test_a_command_that_fails_says_why_and_shows_nothing(connect, command: str) -> None:
    client = await connect(capabilities=EVERYTHING, options=SETTINGS | {"drafter": "no-such-model"})
    error = await client.refusal(client.run(command, {"question": QUESTION}))
    assert (error.code, error.data) == (REQUEST_FAILED, {"kind": "ModelNotFoundError"})
    assert client.shown_documents == []


OUTSIDE = {"textDocument": {"uri": "file:///etc/passwd"}, "range": HERE}
MALFORMED: list[tuple[str, list[Any]]] = [
    ("winnow.ask", []),
    ("winnow.ask", ["why?"]),
    ("winnow.ask", [{"question": "?"}, {"question": "?"}]),
    ("winnow.ask", [{"question": "?", **OUTSIDE}]),
    ("winnow.showSpans", [None]),
    ("winnow.explain", []),
    ("winnow.explain", [OUTSIDE | {"about": "code"}]),
    ("winnow.edit", []),
    ("winnow.edit", [OUTSIDE]),
    ("winnow.edit", [OUTSIDE | {"change": "document"}]),
    ("winnow.nothing", []),
    ("", []),
]


@pytest.mark.parametrize(("command", "arguments"), MALFORMED, ids=str)
async def test_commands_that_make_no_sense_are_refused(client, command: str, arguments: list[Any]) -> None:
    error = await client.refusal(client.run(command, *arguments))
    assert error.code == INVALID_PARAMS
    assert error.message
