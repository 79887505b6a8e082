"""`winnow acp` as a process, with real weights, asked by the protocol's own client."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from acp import RequestError, resource_link_block, spawn_agent_process, text_block
from acp.client.connection import ClientSideConnection
from acp.interfaces import Client

from .user import PATIENCE_S, User

pytestmark = pytest.mark.real_weights

MODELS = ("--drafter", "smollm2-135m", "--target", "smollm2-135m")
SHORT = (*MODELS, "--budget", "300", "--set", "maxTokens=8")


class Editor(Client):
    """A client that keeps what it is shown, and fails where it is asked for anything."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, Any]] = []
        self.text_came = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.shown.append((session_id, update))
        if update.session_update == "agent_message_chunk":
            self.text_came.set()

    def kinds(self, session: str) -> list[str]:
        return [update.session_update for one, update in self.shown if one == session]

    def text(self, session: str) -> str:
        chunks = [u for one, u in self.shown if one == session and u.session_update == "agent_message_chunk"]
        return "".join(chunk.content.text for chunk in chunks)

    def calls(self, session: str) -> list[Any]:
        return [u for one, u in self.shown if one == session and u.session_update.startswith("tool_call")]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a project"
    folder.mkdir()
    (folder / "prices.py").write_text(
        "def discount(price):\n    return price * 0.9\n\n\ndef tax(price):\n    return price * 1.19\n"
    )
    (folder / "greet.py").write_text("def greet(name):\n    return f'Hello {name}'\n")
    return folder


@asynccontextmanager
async def editor(
    environment: Mapping[str, str], *options: str
) -> AsyncIterator[tuple[Editor, ClientSideConnection, asyncio.subprocess.Process]]:
    one = Editor()
    arguments = ("-m", "winnow_lsp", "acp", *options)
    kept = {"transport_kwargs": {"stderr": asyncio.subprocess.DEVNULL}}
    async with (
        asyncio.timeout(PATIENCE_S),
        spawn_agent_process(one, sys.executable, *arguments, env=environment, **kept) as (agent, process),
    ):
        said = await agent.initialize(protocol_version=1)
        assert said.agent_info.name == "winnow"
        yield one, agent, process


async def answering(one: Editor, agent: ClientSideConnection, project: Path) -> tuple[str, asyncio.Task[Any]]:
    """A session with a prompt whose long answer has begun."""
    session = (await agent.new_session(cwd=str(project), mcp_servers=[])).session_id
    asking = asyncio.create_task(agent.prompt(session, [text_block("Write a very long story about taxes.")]))
    await one.text_came.wait()
    return session, asking


async def test_answers_stream_with_their_places_in_two_sessions_at_once(user: User, project: Path) -> None:
    async with editor(user.environment, *SHORT) as (one, agent, _):
        sessions = [(await agent.new_session(cwd=str(project), mcp_servers=[])).session_id for _ in range(2)]
        where = resource_link_block("prices.py", (project / "prices.py").as_uri() + "#L1-2")
        asked = (agent.prompt(session, [text_block("What does this give?"), where]) for session in sessions)
        answers = await asyncio.gather(*asked)
        for session, answer in zip(sessions, answers, strict=True):
            assert answer.stop_reason in ("end_turn", "max_tokens")
            assert one.text(session).strip()
            *_, searched = (call for call in one.calls(session) if call.locations)
            assert one.kinds(session).index("agent_message_chunk") > one.kinds(session).index("tool_call")
            assert (searched.kind or "search", searched.status) == ("search", "completed")
            assert {Path(place.path) for place in searched.locations} <= {*project.iterdir()}
            assert str(project / "prices.py") in {place.path for place in searched.locations}
            assert one.calls(session)[-1].status == "completed"
        before = one.text(sessions[0])
        await agent.prompt(sessions[0], [text_block("And what does tax give?")])
        assert len(one.text(sessions[0])) > len(before)
    assert "target smollm2-135m" in user.run("serve", "--status").stdout, "the shared server answered"


async def test_a_follow_up_reaches_the_target_with_the_turns_before_it(user: User, project: Path) -> None:
    async with editor(user.environment, *SHORT, "--no-server") as (one, agent, _):
        first, second = [(await agent.new_session(cwd=str(project), mcp_servers=[])).session_id for _ in range(2)]
        await agent.prompt(first, [text_block("What does discount give?")])
        told = len(one.text(first))
        await agent.prompt(first, [text_block("And the other one?")])
        await agent.prompt(second, [text_block("And the other one?")])
        assert one.text(first)[told:] != one.text(second)


@pytest.mark.parametrize("where", ["--server", "--no-server"])
async def test_cancelling_ends_the_prompt_and_the_work(user: User, project: Path, where: str) -> None:
    async with editor(user.environment, *MODELS, "--set", "maxTokens=4000", where) as (one, agent, _):
        session, asking = await answering(one, agent, project)
        await agent.cancel(session)
        assert (await asking).stop_reason == "cancelled"
        assert ", answering" not in user.run("serve", "--status").stdout
        again = asyncio.create_task(agent.prompt(session, [text_block("What does greet give?")]))
        one.text_came.clear()
        await one.text_came.wait()
        await agent.cancel(session)
        assert (await again).stop_reason == "cancelled"


@pytest.mark.parametrize("where", ["--server", "--no-server"])
async def test_a_client_that_dies_ends_the_process_and_the_work(user: User, project: Path, where: str) -> None:
    async with editor(user.environment, *MODELS, "--set", "maxTokens=4000", where) as (one, agent, process):
        _, asking = await answering(one, agent, project)
        process.stdin.close()
        assert await process.wait() == 0
        assert ", answering" not in user.run("serve", "--status").stdout
        asking.cancel()


async def test_errors_say_what_to_do(user: User, project: Path, tmp_path: Path) -> None:
    nothing = {**user.environment, "WINNOW_MODELS_DIR": str(tmp_path / "none")}
    async with editor(nothing, *MODELS) as (_, agent, process):
        with pytest.raises(RequestError, match="cwd is not the absolute path of a directory: prices"):
            await agent.new_session(cwd="prices", mcp_servers=[])
        session = (await agent.new_session(cwd=str(project), mcp_servers=[])).session_id
        with pytest.raises(RequestError, match="run `winnow models pull smollm2-135m`"):
            await agent.prompt(session, [text_block("Why?")])
        process.stdin.write(b'{"jsonrpc": "2.0", "id": \n[]\n\xff\n')
        with pytest.raises(RequestError, match="the prompt is empty"):
            await agent.prompt(session, [text_block("")])
