"""`winnow mcp` as agents meet it: the SDK's client and odd bytes, with real weights."""

import asyncio
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

import httpx
import jsonschema
import mcp_types as types
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from winnow_engine.encoder.drafter import Drafter

from ..unit.targets.hostile import Hostile, Talk, event, large, served
from .user import PATIENCE_S, User

pytestmark = [pytest.mark.real_weights, pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")]

WORKSPACE = Path(__file__).parents[2] / "engine" / "winnow_engine" / "selection"
MODELS = ("--drafter", "smollm2-135m", "--target", "smollm2-135m", "--set", "maxTokens=8")
# so few that no call is answered from an incomplete index
FILES = ("budget.py", "ranking.py", "first_look.py", "subquestions.py")
SET = ("budget=300", *(f"files.include={file}" for file in FILES))
HERE = (*MODELS, "-w", str(WORKSPACE), *(part for value in SET for part in ("--set", value)))
QUESTION = "Which units fit a budget?"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
ASK = {"name": "ask", "arguments": {"question": QUESTION}}
WORTH = (WORKSPACE / "budget.py").read_text().partition("def worth")[0].count("\n") + 1
MESSAGES = 10_000


@asynccontextmanager
async def client(user: User, *arguments: str, **options: Any) -> AsyncIterator[ClientSession]:
    """A client of the SDK's that has been greeted by `winnow mcp`."""
    command, *rest = user.command("mcp", *arguments)
    parameters = StdioServerParameters(command=command, args=rest, env=user.environment)
    async with stdio_client(parameters) as (read, write), ClientSession(read, write, **options) as session:
        await session.initialize()
        yield session


async def call(session: ClientSession, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured result of a call that succeeds."""
    result = await session.call_tool(tool, arguments)
    assert not result.is_error, result.content
    [text] = result.content
    assert isinstance(text, types.TextContent)
    assert text.text
    found: dict[str, Any] = result.structured_content
    return found


async def failure(session: ClientSession, tool: str, **arguments: Any) -> str:
    """What a call that fails says."""
    result = await session.call_tool(tool, arguments)
    assert result.is_error
    [text] = result.content
    assert isinstance(text, types.TextContent)
    return text.text


@pytest.mark.parametrize("where", ["--server", "--no-server"])
async def test_every_tool_gives_what_its_schema_says(user: User, where: str) -> None:
    async with client(user, *HERE, where) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        calls: dict[str, dict[str, Any]] = {
            "find_code": {"question": QUESTION, "budget": 400},
            "explain_place": {"path": "./budget.py", "start_line": WORTH},
            "outline": {},
            "ask": {"question": QUESTION},
        }
        assert calls.keys() == tools.keys()
        found = {name: await call(session, name, **arguments) for name, arguments in calls.items()}
        for name, tool in tools.items():
            jsonschema.Draft202012Validator.check_schema(tool.input_schema)
            jsonschema.validate(calls[name], tool.input_schema)
            assert tool.output_schema is not None
            jsonschema.validate(found[name], tool.output_schema)
    for span in found["find_code"]["spans"]:
        lines = (WORKSPACE / span["path"]).read_text().splitlines(keepends=True)
        assert "".join(lines[span["start_line"] - 1 : span["end_line"]]) == span["text"]
    assert found["find_code"]["index_complete"]
    assert {"budget.py", "ranking.py"} <= {entry["path"] for entry in found["outline"]["entries"]}
    assert (found["explain_place"]["path"], found["explain_place"]["inside"]) == ("budget.py", ["worth"])
    assert {one["path"] for one in found["explain_place"]["used_by"]} >= {"first_look.py"}
    assert found["ask"]["answer"]
    assert found["ask"]["rests_on"]


async def test_paths_and_budgets_bound_what_is_found(user: User, smollm2: Path) -> None:
    count = Drafter(smollm2).count
    async with client(user, *HERE) as session:
        for budget in (100, 300, 1000):
            for tool, arguments in (
                ("find_code", {"question": QUESTION, "paths": ["budget.py", "./ranking.py"]}),
                ("explain_place", {"path": "ranking.py", "start_line": 1, "end_line": 80}),
                ("outline", {}),
            ):
                result = await session.call_tool(tool, {**arguments, "budget": budget})
                [text] = result.content
                assert isinstance(text, types.TextContent)
                assert count(text.text) <= budget or result.is_error
                if tool == "find_code" and not result.is_error:
                    spans = result.structured_content["spans"]
                    assert {span["path"] for span in spans} <= {"budget.py", "ranking.py"}


async def test_an_expression_alone_lists_lines_and_with_a_question_bounds_what_is_ranked(user: User) -> None:
    async with client(user, *HERE) as session:
        listed = await call(session, "find_code", pattern=r"def worth\(log_odds", paths="*.py")
        [span] = listed["spans"]
        assert (span["path"], span["name"], span["text"].partition(":")[0]) == ("budget.py", "worth", str(WORTH))
        ranked = await call(session, "find_code", question=QUESTION, pattern=r"def \w*units?\w*\(", budget=300)
        assert ranked["spans"]
        assert all(re.search(r"def \w*units?\w*\(", span["text"]) for span in ranked["spans"])
        scores = [span["score"] for span in ranked["spans"]]
        assert scores == sorted(scores, reverse=True)
        for question in ({}, {"question": QUESTION}):
            nothing = await call(session, "find_code", pattern="no such thing", paths=["none.py"], **question)
            notices = [notice[:15] for notice in nothing["notices"]]
            assert (nothing["spans"], notices) == ([], ["nothing is call", "no line matches"])
        assert "no look-around" in await failure(session, "find_code", pattern="(?=x)")
        assert "nothing to look for" in await failure(session, "find_code", question=" ")


async def test_what_is_wrong_with_a_call_is_said(user: User, tmp_path: Path) -> None:
    async with client(user, *HERE) as session:
        assert "there is no tool 'grep'" in await failure(session, "grep")
        assert "question" in await failure(session, "find_code")
        found = await call(session, "find_code", question=QUESTION, extra=1, paths=str(WORKSPACE / "budget.py"))
        assert found["notices"][0].startswith("ignored: extra")
        assert {span["path"] for span in found["spans"]} == {"budget.py"}
        found = await call(session, "find_code", question=QUESTION, paths=["none.py"])
        assert found["spans"]
        assert found["notices"] == ["nothing is called none.py: looked everywhere"]
        told = await call(session, "ask", question=QUESTION, paths=["none.py", "budget.py"])
        assert told["notices"][0] == "nothing is called none.py: looked in the others"
        assert {place["path"] for place in told["rests_on"]} == {"budget.py"}
        assert "none.py is not among" in await failure(session, "explain_place", path="none.py", start_line=1)
        assert "there is no line 9000" in await failure(session, "explain_place", path="budget.py", start_line=9000)
        assert "outside the workspace" in await failure(session, "outline", path="../..")
        assert "outside the workspace" in await failure(session, "find_code", question=QUESTION, paths=["/etc"])
        assert "is a folder" in await failure(session, "explain_place", path=str(WORKSPACE))
    async with client(user, "--drafter", "none", "-w", str(WORKSPACE)) as session:
        assert "no model called 'none'" in await failure(session, "find_code", question=QUESTION)
    empty = tmp_path / "empty"
    empty.mkdir()
    async with client(user, *MODELS, "-w", str(empty)) as session:
        assert "no file in" in await failure(session, "outline")


async def test_the_clients_roots_are_what_is_searched(user: User, tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "tax.py").write_text("def add_tax(amount):\n    return amount * 1.2\n")

    async def roots(_: Any) -> types.ListRootsResult:
        uris = root.as_uri(), (tmp_path / "gone").as_uri()
        return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in uris])  # type: ignore[arg-type]

    async with client(user, *MODELS, "-w", str(WORKSPACE), list_roots_callback=roots) as session:
        assert [entry["path"] for entry in (await call(session, "outline"))["entries"]] == ["tax.py"]
        (root / "later.py").write_text("LATER = 1\n")
        outlined = await call(session, "outline")
        assert [entry["path"] for entry in outlined["entries"]] == ["later.py", "tax.py"]
        assert "out of bounds: file:///" in outlined["notices"][0]


async def test_progress_is_told_and_a_cancelled_call_stops(user: User) -> None:
    lines: list[str] = []

    async def on_progress(_: float, __: float | None, line: str | None) -> None:
        lines.append(str(line))

    async with client(user, *HERE[:4], "--set", "maxTokens=4000", *HERE[6:]) as session:
        asking = asyncio.create_task(session.call_tool("ask", {"question": QUESTION}, progress_callback=on_progress))
        while "answering" not in lines:
            await asyncio.sleep(0.05)
            assert not asking.done()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        found = await call(session, "find_code", question=QUESTION)
    assert found["spans"], "the queue is free again"


async def test_a_session_outlives_its_servers(user: User, tmp_path: Path) -> None:
    answering = asyncio.Event()

    async def roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=WORKSPACE.as_uri())])  # type: ignore[arg-type]

    async def on_progress(_: float, __: float | None, line: str | None) -> None:
        if line == "answering":
            answering.set()

    async def outlined(session: ClientSession) -> bool:
        try:
            found = await call(session, "outline")
        except MCPError:  # a server that is ending has taken it
            found = await call(session, "outline")
        return "budget.py" in {entry["path"] for entry in found["entries"]}

    def server() -> int:
        found = re.match(r"process (\d+)", user.run("serve", "--status").stdout)
        assert found
        return int(found[1])

    more = ("--set", "maxTokens=4000", *HERE[8:], "-w", str(tmp_path))
    async with client(user, *HERE[:4], *more, list_roots_callback=roots) as session:
        assert await outlined(session)
        for end in signal.SIGKILL, signal.SIGTERM:
            os.kill(server(), end)
            while user.run("serve", "--status").returncode == 0:
                pass
            assert await outlined(session), "it ended between two calls"
            process = server()
            answering.clear()
            asked = session.call_tool("ask", {"question": QUESTION}, progress_callback=on_progress)
            asking = asyncio.create_task(asked)
            await asyncio.wait_for(answering.wait(), PATIENCE_S)
            os.kill(process, end)
            with pytest.raises(MCPError, match="call again"):
                await asking
            assert await outlined(session)


async def test_two_clients_at_once_get_what_one_alone_gets(user: User) -> None:
    questions = ["Which units fit a budget?", "How is a question cut into parts?", "What are sub-questions?"]
    async with client(user, *HERE) as one, client(user, *HERE) as other:
        alone = [await call(one, "find_code", question=question) for question in questions]
        both = await asyncio.gather(
            *(call(session, "find_code", question=question) for question in questions for session in (one, other))
        )
    assert both == [found for found in alone for _ in range(2)]


def test_a_client_that_dies_leaves_nothing_behind(user: User) -> None:
    lines = [
        {"id": 1, "method": "initialize", "params": HELLO},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": ASK},
    ]
    given = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)
    done = user.run("mcp", *HERE[:4], "--set", "maxTokens=4000", "-w", str(WORKSPACE), given=given)
    assert done.returncode == 0
    assert json.loads(done.stdout.splitlines()[0])["id"] == 1
    assert user.run("mcp", *HERE, given="").returncode == 0, "a client that says nothing"


def mutated(random: Random, line: bytes) -> bytes:
    """The line with some of its bytes changed, or something else altogether."""
    kind = random.randrange(6)
    if kind == 0:
        return random.randbytes(random.randrange(1, 40)).replace(b"\n", b" ")
    if kind == 1:
        return line[: random.randrange(len(line))]
    if kind == 2:
        return line.replace(random.choice([b'"id"', b'"method"', b'"params"', b'"name"', b"2.0"]), b'"x"')
    if kind == 3:
        values = (b"null", b"-1", b"[]", b"{}", b'"\\ud800"', b"1e999", b"9" * 400, b"[" * 300)
        return line.replace(b'"path"', b'"path": ' + random.choice(values) + b', "y"')
    data = bytearray(line)
    for _ in range(random.randrange(1, 4)):
        data[random.randrange(len(data))] = random.randrange(32, 256)
    return bytes(data)


async def test_ten_thousand_mutated_messages_break_nothing(user: User) -> None:
    random, alive = Random(1), 0
    process = await asyncio.create_subprocess_exec(
        *user.command("mcp", *HERE),
        env=user.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        limit=1 << 24,
    )
    assert process.stdin is not None
    assert process.stdout is not None

    def request(identity: object, method: str, params: object) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}).encode()

    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    process.stdin.write(request("hello", "initialize", hello) + b"\n")
    process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
    sound = [
        request(1, "tools/list", {}),
        request(2, "tools/call", {"name": "outline", "arguments": {"path": "budget.py", "budget": 300}}),
        request(3, "tools/call", {"name": "explain_place", "arguments": {"path": "budget.py", "start_line": WORTH}}),
        request(4, "ping", {}),
    ]
    answered: set[object] = set()

    async def read() -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            message = json.loads(line)
            assert message["jsonrpc"] == "2.0"
            if isinstance(message.get("id"), str):
                answered.add(message["id"])

    reading = asyncio.create_task(read())
    for number in range(MESSAGES):
        process.stdin.write(mutated(random, random.choice(sound)) + b"\n")
        if number % 500 == 0:
            alive += 1
            process.stdin.write(request(f"alive {alive}", "ping", {}) + b"\n")
        await process.stdin.drain()
    process.stdin.write(request("last", "tools/list", {}) + b"\n")
    async with asyncio.timeout(PATIENCE_S):
        while "last" not in answered:
            await asyncio.sleep(0.05)
            assert not reading.done()
    process.stdin.close()
    await reading
    assert await process.wait() == 0
    assert {"hello", *(f"alive {number + 1}" for number in range(alive))} <= answered


@asynccontextmanager
async def http_server(user: User, *arguments: str) -> AsyncIterator[str]:
    """The address of `winnow mcp --http`."""
    process = await asyncio.create_subprocess_exec(
        *user.command("mcp", *HERE, "--http", "0", *arguments),
        env=user.environment,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )
    assert process.stderr is not None
    try:
        said = (await process.stderr.readline()).decode()
        yield f"http://{said.split()[-1]}/mcp"
    finally:
        process.send_signal(signal.SIGINT)
        _, said_last = await process.communicate()
        assert (process.returncode, b"closed database" in said_last) == (130, False)


async def test_the_tools_over_http_for_programs_of_this_machine_only(user: User, tmp_path: Path) -> None:
    async def roots(_: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=tmp_path.as_uri())])  # type: ignore[arg-type]

    async with http_server(user) as address:
        async with streamable_http_client(address) as (read, write, *_), ClientSession(read, write) as session:
            await session.initialize()
            assert (await call(session, "find_code", question=QUESTION))["spans"]
        async with (
            streamable_http_client(address) as (read, write, *_),
            ClientSession(read, write, list_roots_callback=roots) as session,
        ):
            await session.initialize()
            assert "outside of" in await failure(session, "outline")
        async with httpx.AsyncClient() as client:
            ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
            accept = {"Accept": "application/json, text/event-stream"}
            rebound = await client.post(address, json=ping, headers={**accept, "Host": "evil.example"})
            page = await client.post(address, json=ping, headers={**accept, "Origin": "https://evil.example"})
            plain = {**accept, "Content-Type": "text/plain"}
            form = await client.post(address, content=json.dumps(ping), headers=plain)
    assert rebound.status_code == page.status_code == 403
    assert form.status_code in (400, 415)


async def test_a_client_that_leaves_stops_its_call_over_http(user: User) -> None:
    begun, left = threading.Event(), threading.Event()

    def chat(talk: Talk) -> None:
        talk.stream(event("Hel"))
        begun.set()
        talk.until_left()
        left.set()

    headers = {"Accept": "application/json, text/event-stream"}
    with served(Hostile(chat, large)) as target:
        async with http_server(user, "--target", target.url) as address, httpx.AsyncClient(headers=headers) as client:

            async def send(number: int, method: str, params: object) -> httpx.Response:
                message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                return await client.post(address, json=message, timeout=PATIENCE_S)

            client.headers["mcp-session-id"] = (await send(1, "initialize", HELLO)).headers["mcp-session-id"]
            asking = asyncio.create_task(send(2, "tools/call", ASK))
            assert await asyncio.to_thread(begun.wait, PATIENCE_S)
            asking.cancel()
            assert await asyncio.to_thread(left.wait, 30)  # a server that says nothing is given up after 60 s


async def test_a_token_guards_the_tools_over_http(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(user.environment, "WINNOW_HTTP_TOKEN", "secret")
    async with http_server(user) as address, httpx.AsyncClient() as client:
        refused = await client.post(address, json={})
        begin = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        headers = {"Authorization": "Bearer secret", "Accept": "application/json, text/event-stream"}
        proxied = await client.post(address, json=begin, headers={**headers, "Host": "winnow.example.org"})
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert proxied.status_code == 200, proxied.text
