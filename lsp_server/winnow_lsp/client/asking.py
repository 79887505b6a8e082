"""Asks the shared server a question: `winnow/ask` as the protocol describes it (docs/protocol.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from winnow_engine import errors
from winnow_engine.core import Cancellation, Citation, Folder, Kept, KeptSink, Span, TextSink, Thought, UnitKind
from winnow_engine.errors import CancelledError, TargetError, WinnowError
from winnow_engine.question import Cursor, Question
from winnow_lsp.client.connection import Connection, ConnectionLostError
from winnow_lsp.host.reply import Reply, from_wire
from winnow_lsp.host.roots import file_at, file_path, workspace_path

_CANCELLED = -32800  # LSP 3.17, LSPErrorCodes.RequestCancelled
# The server need not watch the folder: each question reads it anew, and this client leaves after one.
_CAPABILITIES = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}


@dataclass(frozen=True, slots=True)
class Listener:
    """Sinks for text of the answer, kept code, the current wait, and text of a thought before the answer."""

    on_text: TextSink
    on_kept: KeptSink
    on_stage: Callable[[str], None]
    on_thought: TextSink = lambda _: None


def ask(
    connection: Connection,
    folders: Sequence[Folder],
    question: Question,
    settings: Mapping[str, Any],
    listener: Listener,
    cancellation: Cancellation,
) -> Reply:
    """The server's answer, with `settings` by name. Raises what the engine raises, and ConnectionLostError."""
    _introduce(connection, folders, settings, cancellation)
    asked = connection.request("winnow/ask", _params(folders, question))
    cancelled = False
    for message in connection.messages():
        if cancellation.cancelled and not cancelled:
            cancelled = True
            connection.notify("$/cancelRequest", {"id": asked})
        if message is None:
            continue
        if message.get("id") == asked:
            if "error" in message:
                raise _error(message["error"])
            _leave(connection)
            return _reply(message["result"], folders)
        _tell(listener, message, folders)
    raise AssertionError("messages never end")


def _introduce(
    connection: Connection, folders: Sequence[Folder], settings: Mapping[str, Any], cancellation: Cancellation
) -> None:
    params = {
        "processId": None,
        "rootUri": None,
        "capabilities": _CAPABILITIES,
        "workspaceFolders": [{"uri": one.root.as_uri(), "name": one.name or one.root.name} for one in folders],
        "initializationOptions": {**settings, "index.automatic": True},
    }
    connection.result("initialize", params, cancellation)
    connection.notify("initialized", {})


def _leave(connection: Connection) -> None:
    """Leave in order, which tells the server to complete an index that the answer could not wait for."""
    connection.request("shutdown", None)
    connection.notify("exit", None)


def _params(folders: Sequence[Folder], question: Question) -> dict[str, Any]:
    params: dict[str, Any] = {"question": question.text, "partialResultToken": "text", "workDoneToken": "stages"}
    if question.changes is not None:
        params["changes"] = question.changes
    if question.earlier:
        params["earlier"] = [asdict(turn) for turn in question.earlier]
    return params if question.cursor is None else params | _where(folders, question.cursor)


def _where(folders: Sequence[Folder], cursor: Cursor) -> dict[str, Any]:
    """Line ends: whole lines, of which the last ends where the next begins; a single one is a position."""
    start = {"line": cursor.start_line - 1, "character": 0}
    end = {"line": cursor.end_line, "character": 0}
    at = {"position": start} if cursor.start_line == cursor.end_line else {"range": {"start": start, "end": end}}
    file = file_at(folders, cursor.path)
    assert file is not None, "a cursor is in one of the folders"
    return {"textDocument": {"uri": file.as_uri()}, **at}


def _tell(listener: Listener, message: Mapping[str, Any], folders: Sequence[Folder]) -> None:
    match message:
        case {"method": "winnow/kept", "params": params}:
            spans = tuple(_span(span, folders) for span in params["spans"])
            listener.on_kept(Kept(spans, params.get("seconds")))
        case {"method": "$/progress", "params": {"token": "text", "value": {"text": str(text), **more}}}:
            if thinking := more.get("thinking"):
                listener.on_thought(str(thinking))
            if text:
                listener.on_text(text)
        case {"method": "$/progress", "params": {"token": "stages", "value": {"message": str(stage)}}}:
            listener.on_stage(stage)


def _error(error: Mapping[str, Any]) -> Exception:
    """The engine's error in the server, by its name."""
    message = str(error["message"])
    if error["code"] == _CANCELLED:
        return CancelledError("cancelled")
    data = error.get("data")
    kind = getattr(errors, str(data.get("kind")), None) if isinstance(data, dict) else None
    if isinstance(kind, type) and issubclass(kind, WinnowError):
        return kind(message)
    return TargetError(message) if data is None else ConnectionLostError(message)


def _reply(result: Mapping[str, Any], folders: Sequence[Folder]) -> Reply:
    gone = (Citation(*_place(one["location"], folders), one["commit"]) for one in result.get("citedBefore", ()))
    return Reply(
        answer=result["answer"],
        citations=(*(Citation(*_place(citation, folders)) for citation in result["citations"]), *gone),
        spans=tuple(_span(span, folders) for span in result["spans"]),
        stats=from_wire(result["stats"]),
        finish=result["finish"],
        notices=tuple(result["notices"]),
        thinking=Thought(**result["thinking"]) if "thinking" in result else None,
    )


def _span(span: Mapping[str, Any], folders: Sequence[Folder]) -> Span:
    path, start, end = _place(span["location"], folders)
    kind = UnitKind(span["kind"])
    return Span(path, start, end, span["tokens"], span["score"], kind, span["name"], span["features"])


def _place(location: Mapping[str, Any], folders: Sequence[Folder]) -> tuple[str, int, int]:
    """The workspace path and the lines of a location, which ends where the line after its last one begins."""
    path, lines = workspace_path(folders, file_path(location["uri"])), location["range"]
    assert path is not None, "the server speaks of files in the folders"
    return path, lines["start"]["line"] + 1, lines["end"]["line"]
