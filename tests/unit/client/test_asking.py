"""What becomes of the server's messages in a command."""

import json
import socket
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from winnow_engine.core import Cancellation, Citation, Folder, Kept, Span, Thought, UnitKind
from winnow_engine.errors import CancelledError, ModelDamagedError, TargetError, WinnowError
from winnow_engine.question import Cursor, Question
from winnow_lsp.client.connection import Connection, ConnectionLostError, Listener, ask

ROOT = Path("/repo with space")


def where(path: str, start: int, end: int) -> dict[str, Any]:
    lines = {"start": {"line": start - 1, "character": 0}, "end": {"line": end, "character": 0}}
    return {"uri": (ROOT / path).as_uri(), "range": lines}


SPAN = {
    "location": where("a/é.py", 3, 9), "score": 1.5, "features": {"words": 1.5}, "tokens": 41, "kind": "method",
    "name": "A.b",
}  # fmt: skip
RESULT = {
    "conversation": "c", "question": "Why?", "answer": "So.", "finish": "eos", "sentences": [],
    "citations": [where("a/é.py", 4, 4)],
    "spans": [SPAN], "stats": {"ttft": 1.25, "keptTokens": 41}, "notices": ["n"],
}  # fmt: skip


def asked(
    *messages: dict[str, Any], question: Question | None = None, folders: tuple[Folder, ...] = (Folder(ROOT),)
) -> tuple[Any, list[Any], list[dict[str, Any]]]:
    """What `ask` returns, what its listener hears, and what the server gets, when it sends these messages."""
    near, far = socket.socketpair()
    heard: list[Any] = []
    with near, far:
        for message in ({"id": 1, "result": {}}, *messages):
            body = json.dumps({"jsonrpc": "2.0", **message}).encode()
            far.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        stages, thoughts = (lambda said, kind=kind: heard.append((kind, said)) for kind in ("stage", "thought"))
        listener = Listener(heard.append, heard.append, stages, thoughts)
        reply = ask(Connection(near), folders, question or Question("Why?"), {}, listener, Cancellation())
        parts = far.recv(1 << 16).decode().split("Content-Length: ")[1:]
    sent = [json.loads(part.partition("\r\n\r\n")[2]) for part in parts]
    return reply, heard, sent


def test_a_thought_is_told_apart_from_the_answer() -> None:
    value = {"kind": "delta", "sequence": 0, "text": "", "thinking": "Hm."}
    thinking = {"text": "Hm.", "seconds": 2.5, "tokens": 3}
    reply, heard, _ = asked(
        {"method": "$/progress", "params": {"token": "text", "value": value}},
        {"method": "$/progress", "params": {"token": "text", "value": {**value, "text": "So.", "thinking": "!"}}},
        {"id": 2, "result": {**RESULT, "thinking": thinking}},
    )
    assert heard == [("thought", "Hm."), ("thought", "!"), "So."]
    assert reply.thinking == Thought("Hm.", 2.5, 3)
    assert asdict(reply)["thinking"] == thinking


def test_an_answer_with_everything_that_happens_on_the_way() -> None:
    reply, heard, sent = asked(
        {"method": "winnow/status", "params": {}},
        {"method": "$/progress", "params": {"token": "stages", "value": {"kind": "begin", "title": "Winnow"}}},
        {"method": "$/progress", "params": {"token": "stages", "value": {"kind": "report", "message": "searching"}}},
        {"method": "winnow/kept", "params": {"token": "text", "spans": [SPAN], "provisional": True}},
        {"method": "winnow/kept", "params": {"token": "text", "spans": [SPAN], "seconds": 2.0}},
        {"method": "$/progress", "params": {"token": "text", "value": {"kind": "delta", "sequence": 0, "text": "So."}}},
        {"id": 2, "result": RESULT},
    )
    span = Span("a/é.py", 3, 9, 41, 1.5, UnitKind.METHOD, "A.b", {"words": 1.5})
    assert heard == [("stage", "searching"), Kept((span,), None, True), Kept((span,), 2.0), "So."]
    assert (reply.answer, reply.citations, reply.spans) == ("So.", (Citation("a/é.py", 4, 4),), (span,))
    assert (reply.finish, reply.notices, reply.stats["ttft_s"], reply.stats["kept_tokens"]) == ("eos", ("n",), 1.25, 41)
    assert reply.stats["target_host"] is None
    assert [message["method"] for message in sent] == [
        "initialize", "initialized", "winnow/ask", "shutdown", "exit",
    ]  # fmt: skip
    assert sent[0]["params"]["initializationOptions"]["index.automatic"] == "always"


@pytest.mark.parametrize(
    ("cursor", "expected"),
    [
        (Cursor("a b.py", 3, 3), {"position": {"line": 2, "character": 0}}),
        (Cursor("a b.py", 3, 5), {"range": {"start": {"line": 2, "character": 0}, "end": {"line": 5, "character": 0}}}),
    ],
)
def test_a_cursor_is_a_position_and_a_selection_whole_lines(cursor: Cursor, expected: dict[str, Any]) -> None:
    _, _, sent = asked({"id": 2, "result": RESULT}, question=Question("Why?", cursor))
    assert sent[2]["params"].items() >= expected.items()
    assert sent[2]["params"]["textDocument"]["uri"].endswith("/a%20b.py")


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        ({"code": -32803, "message": "m", "data": {"kind": "ModelDamagedError"}}, ModelDamagedError),
        ({"code": -32800, "message": "m"}, CancelledError),
        ({"code": -32803, "message": "m"}, TargetError),
        ({"code": -32603, "message": "m", "data": {"kind": "getattr"}}, ConnectionLostError),
    ],
)
def test_errors_are_those_of_the_engine(error: dict[str, Any], raised: type[WinnowError]) -> None:
    with pytest.raises(raised):
        asked({"id": 2, "error": error})


def test_cancelling_asks_the_server_to_stop_and_waits_until_it_has() -> None:
    near, far = socket.socketpair()
    cancellation = Cancellation()
    with near, far:

        def on_stage(_: str) -> None:
            cancellation.cancel()
            send({"method": "$/progress", "params": {"token": "text", "value": {"text": "late"}}})
            send({"id": 2, "error": {"code": -32800, "message": "cancelled"}})

        def send(message: dict[str, Any]) -> None:
            body = json.dumps(message).encode()
            far.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

        send({"id": 1, "result": {}})
        send({"method": "$/progress", "params": {"token": "stages", "value": {"message": "searching"}}})
        listener = Listener(lambda _: None, lambda _: None, on_stage)
        with pytest.raises(CancelledError):
            ask(Connection(near), (Folder(ROOT),), Question("Why?"), {}, listener, cancellation)
        assert b'"$/cancelRequest", "params": {"id": 2}' in far.recv(1 << 16)


def test_several_folders_are_opened_and_places_begin_with_their_names() -> None:
    folders = Folder(ROOT, "one"), Folder(Path("/other"), "two")
    found = {**RESULT, "citations": [where("a.py", 4, 4), {**where("a.py", 5, 6), "uri": "file:///other/b.py"}]}
    question = Question("Why?", Cursor("two/b.py", 3, 3))
    reply, _, sent = asked({"id": 2, "result": found}, question=question, folders=folders)
    assert reply.citations == (Citation("one/a.py", 4, 4), Citation("two/b.py", 5, 6))
    (opened,) = [message["params"] for message in sent if message["method"] == "initialize"]
    assert [folder["name"] for folder in opened["workspaceFolders"]] == ["one", "two"]
    (asking,) = [message["params"] for message in sent if message["method"] == "winnow/ask"]
    assert asking["textDocument"] == {"uri": "file:///other/b.py"}


def test_a_question_about_changes_and_lines_that_are_gone() -> None:
    gone = {"citedBefore": [{"location": where("a/é.py", 7, 8), "commit": "1" * 40}]}
    reply, _, sent = asked({"id": 2, "result": {**RESULT, **gone}}, question=Question("Why?", changes="main...HEAD"))
    assert sent[2]["params"]["changes"] == "main...HEAD"
    assert reply.citations == (Citation("a/é.py", 4, 4), Citation("a/é.py", 7, 8, "1" * 40))


def test_lines_in_a_commit_are_found_by_name_where_a_link_is_now(tmp_path: Path) -> None:
    for folder in ("app", "shared"):
        (tmp_path / folder).mkdir()
    (tmp_path / "app" / "lib").symlink_to("../shared")
    location = {**where("", 7, 8), "uri": (tmp_path / "app/lib/a.py").as_uri()}
    gone = [{"location": location, "commit": "1" * 40}]
    sentence = {"start": 0, "end": 3, "places": [location], "placesBefore": gone, "unknown": []}
    result = {**RESULT, "citations": [location], "citedBefore": gone, "sentences": [sentence], "spans": []}
    found = (Citation("shared/a.py", 7, 8), Citation("app/lib/a.py", 7, 8, "1" * 40))
    reply, _, _ = asked({"id": 2, "result": result}, folders=(Folder(tmp_path),))
    assert reply.citations == reply.sentences[0].places == found
    reply, _, _ = asked({"id": 2, "result": result}, folders=(Folder(tmp_path, "w"), Folder(tmp_path / "shared", "s")))
    assert [one.path for one in reply.citations] == ["s/a.py", "w/app/lib/a.py"]
