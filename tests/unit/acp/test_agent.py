"""Sessions and prompts, with an answerer in place of the models; the protocol's own types check what is sent."""

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from acp.schema import NewSessionResponse, PromptResponse, SessionNotification
from hypothesis import given
from hypothesis import strategies as st

from winnow_engine.core import Cancellation, Citation, Kept, Span, UnitKind
from winnow_engine.errors import ModelNotFoundError
from winnow_engine.question import Question, Turn
from winnow_lsp.acp.agent import AcpAgent, Answerer
from winnow_lsp.acp.messages import JsonRpcLines
from winnow_lsp.client.connection import Listener
from winnow_lsp.host.reply import Reply

SPANS = (Span("src/a.py", 3, 9, 41, 1.5, UnitKind.METHOD, "A.b"), Span("src/[id] b.py", 1, 1, 4, 0.5, UnitKind.BLOCK))
REPLY = Reply("So.", (Citation("src/[id] b.py", 1, 1), Citation("src/a.py", 4, 6)), SPANS, {}, "eos", ("n",))
PATIENCE_S = 120


def at_once(_folder: Path, _question: Question, listener: Listener, _cancellation: Cancellation) -> Reply:
    listener.on_stage("loading models")
    listener.on_kept(Kept(SPANS[:1], None, provisional=True))
    listener.on_kept(Kept(SPANS, 2.0))
    listener.on_stage("reading 512 of 2,900 tokens, about 14 s")
    listener.on_text("So")
    listener.on_text(".")
    return REPLY


class Client:
    """The other end of an agent's lines."""

    def __init__(self, answer: Answerer) -> None:
        self._near, far = socket.socketpair()
        self._far = far.makefile("rb"), far.makefile("wb", buffering=0)
        far.close()
        self.served = threading.Thread(target=self._serve, args=(answer,))
        self.served.start()
        self._lines = self._near.makefile("rb")
        self.updates: list[dict[str, Any]] = []

    def _serve(self, answer: Answerer) -> None:
        source, sink = self._far
        AcpAgent(JsonRpcLines(source, sink), answer).serve()
        source.close()
        sink.close()

    def send(self, *lines: object) -> None:
        for line in lines:
            self._near.sendall((line if isinstance(line, bytes) else json.dumps(line).encode()) + b"\n")

    def reply(self) -> dict[str, Any]:
        """The next response. Updates before it are kept aside."""
        while True:
            message = json.loads(self._lines.readline())
            assert message.pop("jsonrpc") == "2.0"
            if "method" not in message:
                return message
            assert message["method"] == "session/update"
            SessionNotification.model_validate(message["params"])
            self.updates.append(message["params"]["update"])

    def request(self, method: str, params: object) -> dict[str, Any]:
        self.send({"jsonrpc": "2.0", "id": method, "method": method, "params": params})
        answer = self.reply()
        assert answer["id"] == method
        return answer

    def session(self, folder: Path) -> str:
        return str(self.request("session/new", {"cwd": str(folder), "mcpServers": []})["result"]["sessionId"])

    def leave(self) -> None:
        self._near.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self.leave()
        self.served.join(PATIENCE_S)
        assert not self.served.is_alive()
        self._lines.close()
        self._near.close()


@pytest.fixture
def client() -> Iterator[Callable[[Answerer], Client]]:
    made: list[Client] = []

    def make(answer: Answerer) -> Client:
        made.append(Client(answer))
        return made[-1]

    yield make
    for one in made:
        one.close()


def prompt(session: str, words: str = "Why?") -> dict[str, Any]:
    return {"sessionId": session, "prompt": [{"type": "text", "text": words}]}


def test_an_answer_with_the_places_it_rests_on(client: Callable[[Answerer], Client], tmp_path: Path) -> None:
    one = client(at_once)
    result = one.request("session/prompt", prompt(one.session(tmp_path)))["result"]
    assert PromptResponse.model_validate(result).stop_reason == "end_turn"
    calls = [update for update in one.updates if update["sessionUpdate"].startswith("tool_call")]
    assert [(call["sessionUpdate"], call["status"], call["title"]) for call in calls] == [
        ("tool_call", "in_progress", "Searching the repository"),
        ("tool_call_update", "in_progress", "Loading models"),
        ("tool_call_update", "in_progress", "Found 1 place in 1 file so far"),
        ("tool_call_update", "completed", "Kept 2 places in 2 files"),
        ("tool_call", "in_progress", "Reading the prompt, about 2 s"),
        ("tool_call_update", "in_progress", "Reading 512 of 2,900 tokens, about 14 s"),
        ("tool_call_update", "completed", "The code that was kept"),
    ]
    assert calls[3]["locations"] == [
        {"path": f"{tmp_path}/src/a.py", "line": 3},
        {"path": f"{tmp_path}/src/[id] b.py", "line": 1},
    ]
    chunks = [update["content"]["text"] for update in one.updates if update["sessionUpdate"] == "agent_message_chunk"]
    assert chunks[:2] == ["So", "."]
    assert chunks[2] == (
        f"\n\n**Sources**\n\n- [`src/[id] b.py:1`]({tmp_path.as_uri()}/src/%5Bid%5D%20b.py#L1)\n"
        f"- [`src/a.py:4-6`]({tmp_path.as_uri()}/src/a.py#L4)\n\n*Note: n*\n"
    )


def test_what_a_model_thinks_is_apart_from_its_answer(client: Callable[[Answerer], Client], tmp_path: Path) -> None:
    def answer(_folder: Path, _question: Question, listener: Listener, _cancellation: Cancellation) -> Reply:
        listener.on_kept(Kept(SPANS, None))
        listener.on_thought("Hm.")
        listener.on_text("So.")
        return Reply("So.", (), SPANS, {}, "eos", ())

    one = client(answer)
    one.request("session/prompt", prompt(one.session(tmp_path)))
    said = [(update["sessionUpdate"], update.get("title") or update["content"]["text"]) for update in one.updates]
    assert said[-3:] == [
        ("tool_call_update", "The code that was kept"), ("agent_thought_chunk", "Hm."), ("agent_message_chunk", "So."),
    ]  # fmt: skip


def test_a_follow_up_knows_the_turns_of_its_own_session(client: Callable[[Answerer], Client], tmp_path: Path) -> None:
    asked: list[Question] = []

    def answer(folder: Path, question: Question, listener: Listener, cancellation: Cancellation) -> Reply:
        asked.append(question)
        if question.text == "Stop":
            cancellation.cancel()
        return at_once(folder, question, listener, cancellation)

    one = client(answer)
    first, second = one.session(tmp_path), one.session(tmp_path)
    for session, words in ((first, "Why?"), (first, "And how?"), (second, "Stop"), (second, "Who?")):
        one.request("session/prompt", prompt(session, words))
    assert [question.earlier for question in asked] == [(), (Turn("Why?", "So."),), (), (Turn("Stop", "So."),)]


def test_cancelling_stops_one_session_and_no_other(client: Callable[[Answerer], Client], tmp_path: Path) -> None:
    both = threading.Barrier(3)
    running: dict[str, Cancellation] = {}

    def answer(folder: Path, question: Question, listener: Listener, cancellation: Cancellation) -> Reply:
        running[question.text] = cancellation
        both.wait(PATIENCE_S)
        while question.text == "stop me":
            cancellation.check()
        finish.wait(PATIENCE_S)
        return at_once(folder, question, listener, cancellation)

    finish = threading.Event()
    one = client(answer)
    first, second = one.session(tmp_path), one.session(tmp_path)
    one.send({"id": 1, "method": "session/prompt", "params": prompt(first, "stop me")})
    one.send({"id": 2, "method": "session/prompt", "params": prompt(second, "go on")})
    both.wait(PATIENCE_S)
    assert one.request("session/prompt", prompt(first))["error"]["message"].startswith("this session answers a prompt")
    one.send({"method": "session/cancel", "params": {"sessionId": first}})
    assert one.reply() == {"id": 1, "result": {"stopReason": "cancelled"}}
    assert one.updates[-1]["status"] == "failed"
    assert not running["go on"].cancelled
    finish.set()
    assert one.reply() == {"id": 2, "result": {"stopReason": "end_turn"}}


def test_a_client_that_leaves_stops_the_work(client: Callable[[Answerer], Client], tmp_path: Path) -> None:
    begun, stopped = threading.Event(), threading.Event()

    def answer(_folder: Path, _question: Question, _listener: Listener, cancellation: Cancellation) -> Reply:
        begun.set()
        while not cancellation.cancelled:
            pass
        stopped.set()
        raise AssertionError("what comes after the client has gone is told to nobody")

    one = client(answer)
    one.send({"id": 1, "method": "session/prompt", "params": prompt(one.session(tmp_path))})
    assert begun.wait(PATIENCE_S)
    one.leave()
    assert stopped.wait(PATIENCE_S)


def test_errors_have_names_and_the_session_goes_on(client: Callable[[Answerer], Client], tmp_path: Path) -> None:
    errors: list[Exception] = [ModelNotFoundError("run `winnow models pull m`"), RuntimeError("boom")]

    def answer(folder: Path, question: Question, listener: Listener, cancellation: Cancellation) -> Reply:
        if errors:
            raise errors.pop(0)
        return at_once(folder, question, listener, cancellation)

    one = client(answer)
    session = one.session(tmp_path)
    assert one.request("session/prompt", prompt(session))["error"] == {
        "code": -32603, "message": "run `winnow models pull m`", "data": {"kind": "ModelNotFoundError"},
    }  # fmt: skip
    assert "RuntimeError('boom')" in one.request("session/prompt", prompt(session))["error"]["message"]
    assert one.request("session/prompt", prompt(session))["result"] == {"stopReason": "end_turn"}


def test_a_folder_must_be_an_absolute_path_of_a_directory(client: Callable[[Answerer], Client], tmp_path: Path) -> None:
    one = client(at_once)
    (tmp_path / "file").touch()
    for cwd in ("", ".", os.path.relpath(tmp_path), f"{tmp_path}/none", f"{tmp_path}/file", "/\0", "/\ud800"):
        error = one.request("session/new", {"cwd": cwd, "mcpServers": []})["error"]
        assert (error["code"], error["data"]) == (-32602, {"kind": "WorkspaceError"})
        assert error["message"].startswith("cwd is not the absolute path of a directory")
    assert one.request("session/new", {"cwd": 3})["error"]["message"] == "cwd must be a string"
    NewSessionResponse.model_validate(one.request("session/new", {"cwd": f"{tmp_path}/../{tmp_path.name}"})["result"])


def test_all_that_the_user_has_is_no_folder_of_a_session(
    client: Callable[[Answerer], Client], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    one = client(at_once)
    for cwd in ("/", str(tmp_path), f"{tmp_path}/"):
        error = one.request("session/new", {"cwd": cwd, "mcpServers": []})["error"]
        assert (error["code"], error["data"]) == (-32602, {"kind": "WorkspaceError"})
        assert error["message"].endswith("is no repository: open the folder of one")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700), (b"\xff\xfe", -32700), (b"[" * 100_000, -32700), (b"[1]", -32600), (b"3", -32600),
        (b'{"id": 1}', -32600), (b'{"id": {}, "method": "initialize"}', -32600),
        (b'{"id": 1.5, "method": "m"}', -32600),
        (b'{"id": 1, "method": 3}', -32600), (b'{"id": 1, "method": "initialize", "params": []}', -32602),
        (b'{"id": 1, "method": "session/load", "params": {}}', -32601),
        (b'{"id": 1, "method": "session/prompt", "params": {"sessionId": "s", "prompt": []}}', -32002),
    ],
)  # fmt: skip
def test_a_bad_line_is_answered_with_an_error(
    client: Callable[[Answerer], Client], tmp_path: Path, line: bytes, code: int
) -> None:
    one = client(at_once)
    one.send(line)
    assert one.reply()["error"]["code"] == code
    assert one.session(tmp_path)


MEMBERS = st.sampled_from(["id", "method", "params", "sessionId", "prompt", "cwd", "type", "text", "resource", "uri"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(
        ["initialize", "session/new", "session/prompt", "session/cancel", "text", "resource_link", "file:///#L1"]
    ),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(MEMBERS, inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


@given(st.lists(VALUES.map(lambda value: json.dumps(value).encode()) | st.binary(max_size=50), max_size=8))
def test_no_line_ends_the_conversation(lines: list[bytes]) -> None:
    one = Client(at_once)
    one.send(*lines, {"id": "last", "method": "initialize", "params": {}})
    while one.reply()["id"] != "last":
        pass
    one.close()


def test_the_name_of_a_file_makes_no_link(client: Callable[[Answerer], Client], tmp_path: Path) -> None:
    name = "a`](https:evil) [`b.py"
    one = client(lambda *_: Reply("So.", (Citation(name, 1, 1),), (), {}, "eos", ()))
    one.request("session/prompt", prompt(one.session(tmp_path)))
    (sources,) = (
        update["content"]["text"] for update in one.updates if update["sessionUpdate"] == "agent_message_chunk"
    )
    assert f"- [`` {name}:1 ``]({tmp_path.as_uri()}/a%60%5D" in sources
