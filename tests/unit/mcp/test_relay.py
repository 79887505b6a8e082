"""The process that an agent starts: what it answers itself, and what it passes on."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# Its server answers each request with the methods so far, once the agent has said "go", and ends at "end". After "last"
# there is no other one.
PROCESS = """
import json, socket, threading
from pathlib import Path
from winnow_lsp.mcp.relay import AgentRelay

def server(connection):
    heard = []
    for line in connection.makefile("rb"):
        if not line.strip():
            continue
        message = json.loads(line)
        heard.append(message.get("method", "opening"))
        if message.get("method") in ("end", "last"):
            ended.append(message["method"])
            connection.sendall(b'{"jsonrpc": "2.0", "id": 1, "res')
            break
        if "id" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": heard}
            connection.sendall(json.dumps({"method": "note"}).encode() + b"\\n" + json.dumps(answer).encode() + b"\\n")
    connection.close()

def connect():
    if "last" in ended:
        raise OSError("none is here")
    ours, theirs = socket.socketpair()
    go.wait()
    threading.Thread(target=server, args=(theirs,)).start()
    return ours

go, ended = threading.Event(), []
agent = AgentRelay()
agent.wait_for_tools(60)
print("noise")
threading.Timer(0.2, go.set).start()
agent.serve(connect, Path("."), {})
"""
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
Agent = subprocess.Popen[bytes]


@pytest.fixture
def agent() -> Iterator[Agent]:
    with subprocess.Popen(
        [sys.executable, "-c", PROCESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        yield process
        process.kill()


def send(agent: Agent, method: str, identity: int | None = None, params: object = None) -> None:
    assert agent.stdin
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    agent.stdin.write(json.dumps(message if identity is None else message | {"id": identity}).encode() + b"\n")
    agent.stdin.flush()


def heard(agent: Agent) -> Any:
    assert agent.stdout
    return json.loads(agent.stdout.readline())


def answer(agent: Agent) -> Any:
    """The next message that is no notification."""
    while "id" not in (message := heard(agent)):
        pass
    return message


def test_an_agent_has_the_tools_before_there_is_a_server(agent: Agent) -> None:
    send(agent, "initialize", 0, HELLO)
    assert heard(agent)["result"]["serverInfo"]["name"] == "winnow"
    send(agent, "notifications/initialized")
    send(agent, "tools/list", 1)
    assert len(heard(agent)["result"]["tools"]) == 4
    send(agent, "tools/call", 2, {"padding": "x" * 200_000 + '\n{"jsonrpc": "2.0", "id": 5, "method": "tools/list"}'})
    asked = ["opening", "initialize", "notifications/initialized", "tools/call"]
    assert [heard(agent) for _ in range(3)][2] == {"jsonrpc": "2.0", "id": 2, "result": asked}
    send(agent, "tools/list", 3)
    assert len(heard(agent)["result"]["tools"]) == 4
    agent.communicate()
    assert agent.returncode == 0


def test_a_client_that_greets_late_or_never_is_passed_on(agent: Agent) -> None:
    send(agent, "tools/list", 0)
    assert [heard(agent) for _ in range(2)][1]["result"] == ["opening", "tools/list"]
    send(agent, "initialize", 1, HELLO)
    assert heard(agent)["result"]["serverInfo"]["name"] == "winnow"
    assert heard(agent) == {"method": "note"}
    send(agent, "initialize", 2, HELLO)
    assert [heard(agent) for _ in range(2)][1]["result"][-2:] == ["initialize", "initialize"]


def test_an_agent_that_says_nothing_needs_no_server(agent: Agent) -> None:
    assert agent.communicate()[0] == b""
    assert agent.returncode == 0


@pytest.mark.parametrize("length", [0, 200_000])
def test_the_request_after_a_server_ended_greets_the_next_one(agent: Agent, length: int) -> None:
    send(agent, "initialize", 0, HELLO)
    send(agent, "notifications/initialized")
    assert answer(agent)["id"] == 0
    for identity in 1, 3:
        send(agent, "end", identity, {"padding": "x" * length})
        assert (said := answer(agent))["error"]["code"] == -32000
        assert (said["id"], "has ended" in said["error"]["message"]) == (identity, True)
        send(agent, "notifications/cancelled", params={"requestId": identity})
        send(agent, "tools/list", identity)
        assert len(answer(agent)["result"]["tools"]) == 4
        send(agent, "tools/call", identity + 1)
        asked = ["opening", "initialize", "notifications/initialized", "tools/call"]
        assert answer(agent) == {"jsonrpc": "2.0", "id": identity + 1, "result": asked}
    agent.communicate()
    assert agent.returncode == 0


def test_each_request_is_told_why_there_is_no_server_any_more(agent: Agent) -> None:
    send(agent, "last", 0)
    assert "call again" in answer(agent)["error"]["message"]
    for identity in 1, 2:
        send(agent, "ping", identity)
        said = answer(agent)
        assert (said["id"], "no other one: none is here" in said["error"]["message"]) == (identity, True)
    agent.communicate()
    assert agent.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "given", "code", "said"),
    [
        ("--no-server", b"\n", 4, rb"winnow: the index cache .*; make it writable .*\n"),
        ("-w install", b"", 0, b""),  # a folder of that name
    ],
)
def test_how_the_command_ends(arguments: str, given: bytes, code: int, said: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    environment = {**os.environ, "WINNOW_CACHE_DIR": str(tmp_path / "file")}
    command = [sys.executable, "-m", "winnow_lsp", "mcp", *arguments.split()]
    done = subprocess.run(command, input=given, capture_output=True, timeout=120, env=environment, cwd=tmp_path)
    assert (done.returncode, done.stdout, bool(re.fullmatch(said, done.stderr))) == (code, b"", True)
