"""From the first byte to the end of the process, however it comes."""

import asyncio
import json
import shutil
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio
from lsprotocol import types

from winnow_engine.models import cache

from .capabilities import EDITORS, EVERYTHING
from .client import PATIENCE_S, Client, RawClient
from .conftest import SERVE, SETTINGS

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]

QUESTION = "What does delivery cost?"


@pytest_asyncio.fixture(loop_scope="session")
async def process(environment: dict[str, str]):
    """A server on standard input and output, by its bytes."""
    pipe = asyncio.subprocess.PIPE
    started = await asyncio.create_subprocess_exec(*SERVE, env=environment, stdin=pipe, stdout=pipe)
    yield started
    if started.returncode is None:
        started.kill()
        await started.communicate()


def session(folder: Path) -> dict[str, Any]:
    folders = [{"uri": folder.as_uri(), "name": "shop"}]
    return {"capabilities": {}, "initializationOptions": SETTINGS, "workspaceFolders": folders}


def frames(data: bytes) -> list[dict[str, Any]]:
    """The messages that these bytes are, and nothing else."""
    messages = []
    while data:
        header, separator, rest = data.partition(b"\r\n\r\n")
        first, *others = header.split(b"\r\n")
        name, _, length = first.partition(b": ")
        assert (name, separator, others[1:]) == (b"Content-Length", b"\r\n\r\n", [])
        messages.append(json.loads(rest[: int(length)]))
        data = rest[int(length) :]
    return messages


async def test_standard_output_carries_nothing_but_messages_and_these_in_order(process, folder: Path) -> None:
    raw = RawClient(process.stdout, process.stdin)
    raw.send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": session(folder)})
    raw.send({"jsonrpc": "2.0", "method": "initialized", "params": {}})
    raw.send(b"{ this is no JSON")
    question = {"question": QUESTION, "partialResultToken": "text", "workDoneToken": "work"}
    raw.send({"jsonrpc": "2.0", "id": 2, "method": "winnow/ask", "params": question})
    data = b""
    async with asyncio.timeout(PATIENCE_S):
        while b'"id":2,' not in data.replace(b" ", b""):
            data += await process.stdout.read(1 << 16)
    raw.send({"jsonrpc": "2.0", "id": 3, "method": "shutdown"})
    raw.send({"jsonrpc": "2.0", "method": "exit"})
    async with asyncio.timeout(PATIENCE_S):
        data += await process.stdout.read()
        assert await process.wait() == 0
    messages = frames(data)
    assert [m["id"] for m in messages if "id" in m] == [1, None, 2, 3]
    answered = next(n for n, m in enumerate(messages) if m.get("id") == 2)
    progress = [n for n, m in enumerate(messages) if m.get("method") == "$/progress" and m["params"]["token"] == "text"]
    assert progress
    assert max(progress) < answered
    assert "".join(messages[n]["params"]["value"]["text"] for n in progress) == messages[answered]["result"]["answer"]


async def test_leaving_without_shutdown_is_out_of_order(process, folder: Path) -> None:
    raw = RawClient(process.stdout, process.stdin)
    assert "result" in await raw.call("initialize", session(folder))
    raw.send({"jsonrpc": "2.0", "method": "exit"})
    assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 1


async def test_the_process_ends_when_its_client_is_gone_in_mid_answer(process, folder: Path) -> None:
    raw = RawClient(process.stdout, process.stdin)
    options = SETTINGS | {"maxTokens": 2000}
    await raw.call("initialize", session(folder) | {"initializationOptions": options})
    raw.send({"jsonrpc": "2.0", "method": "initialized", "params": {}})
    question = {"question": QUESTION, "partialResultToken": "text"}
    raw.send({"jsonrpc": "2.0", "id": 2, "method": "winnow/ask", "params": question})
    async with asyncio.timeout(PATIENCE_S):
        while b'"delta"' not in await process.stdout.read(1 << 16):
            continue
        process.stdin.close()
        rest = await process.stdout.read()
        await process.wait()
    assert b'"finish"' not in rest


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
async def test_a_server_on_tcp_ends_when_told_even_in_mid_answer(environment, folder: Path, how) -> None:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(*SERVE, "--tcp", "127.0.0.1:0"),
        env=environment,
        stderr=pipe,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )
    async with asyncio.timeout(PATIENCE_S):
        line = await process.stderr.readline()
        host, _, port = line.decode().split()[-1].rpartition(":")
        client = Client()
        await client.start_tcp(host, int(port))
        await client.begin((folder,), EVERYTHING, SETTINGS | {"maxTokens": 2000})
        _, answer = client.start("winnow/ask", {"question": QUESTION, "partialResultToken": "text"})
        await client.until(lambda: client.deltas("text"), answer)
        process.send_signal(how)
        await process.communicate()
    answer.cancel()
    client.vanish()
    await client.leave()
    assert process.returncode in {130, -signal.SIGTERM, 143}


async def test_what_the_server_offers_is_announced(client) -> None:
    offered = client.started.capabilities
    assert client.started.server_info.name == "winnow"
    assert offered.text_document_sync.change == types.TextDocumentSyncKind.Incremental
    kinds = ["winnow.explain", "quickfix.winnow", "refactor.rewrite.winnow"]
    assert list(offered.code_action_provider.code_action_kinds) == kinds
    assert offered.code_lens_provider
    assert offered.workspace.workspace_folders.supported
    assert offered.hover_provider is None


@pytest.mark.parametrize("editor", EDITORS)
async def test_each_editor_gets_to_a_ready_server_and_an_answer(connect, editor: str) -> None:
    client = await connect(capabilities=EDITORS[editor])
    status = await client.settled()
    assert status["message"] == "ready"
    assert status["memoryBytes"] > 100 << 20
    assert status["models"] == {role: {"name": SETTINGS[role], "state": "ready"} for role in ("drafter", "target")}
    assert (await client.ask(QUESTION))["answer"]


async def test_indexing_shows_progress_where_the_client_can(connect, own_folder: Path) -> None:
    (own_folder / "more.py").write_text("\n".join(f"def g{n}():\n    return {n}\n" for n in range(30)))
    client = await connect(own_folder, capabilities=EVERYTHING)
    await client.settled()
    token = await client.until(lambda: next((t for t, v in client.values.items() if v[-1]["kind"] == "end"), None))
    kinds = [value["kind"] for value in client.values[token]]
    assert (kinds[:2], kinds[-1]) == (["created", "begin"], "end")
    assert client.said(token, "indexing")


async def test_a_client_that_vanishes_in_mid_answer_leaves_the_models_to_the_others(connect) -> None:
    long = SETTINGS | {"maxTokens": 2000}
    gone, other = await connect(options=long), await connect()
    _, answer = gone.start("winnow/ask", {"question": QUESTION, "partialResultToken": "text"})
    await gone.until(lambda: gone.deltas("text"), answer)
    await other.until(lambda: other.statuses[-1]["questions"]["running"] == 1)
    gone.vanish()
    await other.until(lambda: other.statuses[-1]["questions"]["running"] == 0)
    assert (await other.ask(QUESTION))["stats"]["decodeTokens"] <= 16
    answer.cancel()


async def test_models_nobody_uses_are_freed(connect, tcp_server, tmp_path: Path) -> None:
    """Seen by their file, which the process maps while it holds the model."""
    own = tmp_path / "own.gguf"
    shutil.copy(cache.path(SETTINGS["target"]), own)
    server = psutil.Process(tcp_server[0])
    client = await connect(options=SETTINGS | {"target": str(own)})
    assert (await client.ask(QUESTION))["answer"]
    assert str(own) in [mapped.path for mapped in server.memory_maps()]
    await client.leave()
    async with asyncio.timeout(60):  # the server frees them behind its goodbye
        while str(own) in [mapped.path for mapped in server.memory_maps()]:
            await asyncio.sleep(0.1)
