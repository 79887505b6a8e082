"""Thousands of messages that no sound client sends, to real server processes on standard input and output.

The server must find exactly the messages that are there by its own rules (docs/protocol.md), answer each request once
however little sense it makes, write nothing but messages, and never crash, hang or grow. Meanwhile it answers real
questions. The messages follow from SEED alone; what is answered, and what is cancelled before, depends on timing.
"""

import asyncio
import itertools
import json
import math
import os
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import psutil
import pytest

from winnow_engine.models import cache

from .random_messages import Framed, Messages, ending, plain

pytestmark = pytest.mark.real_weights

SEED = int(os.environ.get("WINNOW_FUZZ_SEED", "1"))
MESSAGES, SESSIONS, BATCH = 3_000, 6, 50
AT_ONCE = 2  # sessions; a server fed like this keeps one core busy
PATIENCE_S = 60.0
MOST_MEMORY = 500 << 20  # bytes of its own; files of models are mapped, and their pages the system's
LONGEST_HEADER = 1 << 12
MODEL = "smollm2-135m"
SETTINGS = {"drafter": MODEL, "target": MODEL, "maxTokens": 4, "budget": 64}
QUESTION = {"question": "What does greet do?", "partialResultToken": "answer"}
CAPABILITIES = {
    "window": {"workDoneProgress": True, "showDocument": {"support": True}},
    "workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}},
}
REPLIES = (
    {"result": None},
    {"result": {"success": True}},
    {"result": [5]},
    {"error": {"code": -32601, "message": "no"}},
    {"error": "no"},
    None,
)
SERVE = [sys.executable, "-m", "winnow_lsp", "serve"]
_HEADER = re.compile(rb"Content-Length: (\d+)\r\nContent-Type: [^\r\n]+\r\n\r\n")
SOURCE = 'def greet(name):\n    """Say hello."""\n    return f"Hello, {name}!"\n'


def strict_json(text: bytes) -> Any:
    """JSON without NaN and infinity, which RFC 8259 does not know, and without numbers that would become infinite."""
    return json.loads(text, parse_constant=_finite, parse_float=_finite)


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is not finite")
    return value


def expected_reply(body: bytes) -> str | None:
    """The id, as JSON, of the one response a body must get; None if it must get none."""
    try:
        message = strict_json(body)
    except (ValueError, RecursionError):
        return "null"
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return "null"
    identity, has_id = message.get("id"), "id" in message
    if has_id and type(identity) not in (int, str):
        return "null"
    if isinstance(message.get("method"), str):
        return json.dumps(identity) if has_id else None
    is_response = has_id and "method" not in message and ("result" in message or "error" in message)
    return None if is_response else "null"


class Session:
    """One process, what it owes, and what it gave."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._reading = asyncio.create_task(self._read())
        self._came = asyncio.Event()
        self._pings = 0
        self._replies = itertools.cycle(REPLIES)
        self._owed: Counter[str] = Counter()
        self.answers = 0
        self.memory = 0

    async def send(self, framed: Framed) -> None:
        """Send bytes, and expect a response for each request in them."""
        self._owed.update(filter(None, map(expected_reply, framed.bodies)))
        assert self._process.stdin is not None
        self._process.stdin.write(framed.data)
        await asyncio.wait_for(self._process.stdin.drain(), PATIENCE_S)

    async def call(self, method: str, params: Any, **identity: int | str) -> None:
        """Send a sound request, or without `id` a notification."""
        message = {"jsonrpc": "2.0", "method": method, "params": params, **identity}
        await self.send(plain(json.dumps(message).encode()))

    async def ping(self) -> None:
        """Return once a new request has its response."""
        self._pings += 1
        await self.call("winnow/none", {}, id=f"ping {self._pings}")
        await self._until(lambda: not self._owed[json.dumps(f"ping {self._pings}")])
        memory = psutil.Process(self._process.pid).memory_info()
        self.memory = max(self.memory, memory.rss - memory.shared)

    async def cancel(self, spared: str) -> None:
        """Cancel every request that has no response yet, but one."""
        for identity in +self._owed:
            if identity != json.dumps(spared):
                await self.call("$/cancelRequest", {"id": json.loads(identity)})

    async def settle(self) -> None:
        """Return once every request has its response."""
        await self._until(lambda: not +self._owed)

    async def end(self) -> int:
        """Read to the end of the output; the exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await asyncio.wait_for(self._reading, PATIENCE_S)
        assert not +self._owed, f"the server left, owing {+self._owed}"
        return await asyncio.wait_for(self._process.wait(), PATIENCE_S)

    async def kill(self) -> None:
        """Make sure that the process is gone."""
        self._reading.cancel()
        if self._process.returncode is None:
            self._process.kill()
            await self._process.communicate()  # reads on: asyncio ends no process whose output is left over

    async def _until(self, reached: Callable[[], bool]) -> None:
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not reached():
                    if self._reading.done():
                        self._reading.result()
                        raise AssertionError(f"the server left, owing {+self._owed}")
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            raise AssertionError(f"after {PATIENCE_S} s the server still owes {+self._owed}") from None

    async def _read(self) -> None:
        assert self._process.stdout is not None
        try:
            while first := await self._process.stdout.readline():
                header = first + await self._process.stdout.readuntil(b"\r\n\r\n")
                match = _HEADER.fullmatch(header)
                assert match, header
                self._received(strict_json(await self._process.stdout.readexactly(int(match[1]))))
        finally:
            self._came.set()

    def _received(self, message: dict[str, Any]) -> None:
        assert message["jsonrpc"] == "2.0", message
        if "method" not in message:
            identity = json.dumps(message["id"])
            self._owed[identity] -= 1
            assert self._owed[identity] >= 0, f"one response too many: {message}"
            self.answers += identity == '"real"' and "result" in message
        elif "id" in message:
            self._reply(message["id"])
        self._came.set()

    def _reply(self, identity: str) -> None:
        """Answer a request of the server: well, badly or not at all, in turns."""
        reply = next(self._replies)
        if reply is not None and self._process.stdin is not None:
            self._process.stdin.write(plain(json.dumps({"jsonrpc": "2.0", "id": identity, **reply}).encode()).data)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace, beside a file that is none of the server's business."""
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "hello.py").write_text(SOURCE)
    (tmp_path / "secret.py").write_text("SECRET = 1\n")
    return root


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A cache of its own, and one small model; the default ones are not there to be loaded by chance."""
    models = tmp_path / "models"
    models.mkdir()
    file = cache.path(MODEL)
    (models / file.name).symlink_to(file)
    return {**os.environ, "WINNOW_CACHE_DIR": str(tmp_path / "cache"), "WINNOW_MODELS_DIR": str(models)}


async def begin(session: Session, folder: Path) -> None:
    """Open the folder and ask a question."""
    start = {"processId": None, "rootUri": folder.as_uri(), "capabilities": CAPABILITIES}
    await session.call("initialize", start | {"initializationOptions": SETTINGS}, id=0)
    await session.call("initialized", {})
    opened = {"uri": (folder / "hello.py").as_uri(), "languageId": "python", "version": 1, "text": SOURCE}
    await session.call("textDocument/didOpen", {"textDocument": opened})
    await session.call("winnow/ask", QUESTION, id="real")


async def converse(session: Session, rng: Random, messages: Messages, folder: Path) -> int:
    """One session to its end; the exit code it should have."""
    for _ in range(rng.randrange(BATCH)):
        await session.send(messages.framed())
    await begin(session, folder)
    if rng.random() < 0.3:
        await session.settle()
    for number in range(MESSAGES // SESSIONS):
        if number % BATCH == 0:
            await session.ping()
            await session.cancel(spared="real")
        await session.send(messages.framed())
    await session.cancel(spared="real")
    await session.settle()
    return await leave(session, rng, messages)


async def leave(session: Session, rng: Random, messages: Messages) -> int:
    """End in order, without a word, or in the middle of nonsense; the exit code that says which."""
    way = rng.randrange(6)
    if way == 0:
        await session.call("shutdown", None, id="last")
        await session.send(messages.framed())
    if way <= 1:
        await session.call("exit", None)
    else:
        with suppress(ConnectionError):  # it may leave before it has read all of that
            await session.send(ending(rng, messages.body()))
    return 0 if way == 0 else 1


async def run(seed: str, folder: Path, environment: dict[str, str], log: Path) -> int:
    """One process; how many real answers it gave."""
    rng = Random(seed)
    with log.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *SERVE, stdin=PIPE, stdout=PIPE, stderr=stderr, env=environment, cwd=folder.parent, limit=LONGEST_HEADER
        )
        session = Session(process)
        try:
            expected = await converse(session, rng, Messages(rng, folder), folder)
            assert await session.end() == expected
        finally:
            await session.kill()
    assert "Traceback" not in log.read_text(errors="replace"), log.read_text(errors="replace")[-5000:]
    assert session.memory < MOST_MEMORY, f"{session.memory:,} bytes"
    return session.answers


async def test_the_server_survives_them(folder: Path, environment: dict[str, str], tmp_path: Path):
    places = asyncio.Semaphore(AT_ONCE)

    async def answers(number: int) -> int:
        seed = f"{SEED}-{number}"
        async with places:
            try:
                return await run(seed, folder, environment, tmp_path / f"{number}.log")
            except Exception as error:
                error.add_note(f"session {seed}")
                raise

    async with asyncio.TaskGroup() as group:
        sessions = [group.create_task(answers(number)) for number in range(SESSIONS)]
    assert any(session.result() for session in sessions)
