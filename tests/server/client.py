"""Clients that record whatever the server sends: a whole one, and one for bytes that no client would send."""

import asyncio
import json
import uuid
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import attrs
import pytest
from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.exceptions import JsonRpcException
from pytest_lsp.client import LanguageClient
from pytest_lsp.protocol import LanguageClientProtocol

T = TypeVar("T")

PATIENCE_S = 300  # for one thing to happen on a slow machine; nothing is measured here


@attrs.define
class CodeActionsResponse:
    """lsprotocol's own takes every action that has a command for a bare command."""

    id: int | str
    result: list[types.CodeAction | types.Command]
    jsonrpc: str = "2.0"


def converter() -> Any:
    made = get_converter()

    def structure(value: Any, _: object) -> CodeActionsResponse:
        kinds = (types.Command if isinstance(one.get("command"), str) else types.CodeAction for one in value["result"])
        return CodeActionsResponse(value["id"], list(map(made.structure, value["result"], kinds)))

    made.register_structure_hook(CodeActionsResponse, structure)
    return made


class AnyParams(LanguageClientProtocol):
    """Sends parameters as they are given, malformed ones too; what comes back is typed."""

    def get_message_type(self, method: str) -> type[Any] | None:
        known = method in types.METHOD_TO_TYPES
        sent = not known or types.message_direction(method) == "clientToServer" or method == types.CANCEL_REQUEST
        return None if sent else types.METHOD_TO_TYPES[method][0]

    def get_result_type(self, method: str) -> type[Any] | None:
        return CodeActionsResponse if method == types.TEXT_DOCUMENT_CODE_ACTION else super().get_result_type(method)


class Client(LanguageClient):
    """pytest-lsp's client, with Winnow's notifications, and a way to wait for what the server does."""

    def __init__(self) -> None:
        super().__init__(protocol_cls=AnyParams, converter_factory=converter)
        self.values: defaultdict[types.ProgressToken, list[dict[str, Any]]] = defaultdict(list)
        self.statuses: list[dict[str, Any]] = []
        self.registered: list[types.Registration] = []
        self.refused: set[str] = set()
        self.show_succeeds = True
        self.asked: list[types.ShowMessageRequestParams] = []
        self.choice: str | None = "Apply"
        self.applied: list[types.WorkspaceEdit] = []
        self.applying = types.ApplyWorkspaceEditResult(True)
        self.started: types.InitializeResult | None = None
        self._news = asyncio.Event()
        for method, handler in HANDLERS.items():
            self.feature(method)(handler)

    def start(self, method: str, params: Any) -> tuple[str, asyncio.Task[Any]]:
        """A request's id, to cancel it by, and what will be its result."""
        identity = str(uuid.uuid4())
        answer = self.protocol.send_request_async(method, params, identity)
        task = asyncio.ensure_future(asyncio.wait_for(answer, PATIENCE_S))
        task.add_done_callback(lambda _: self.news())
        return identity, task

    async def ask(self, question: str, **fields: Any) -> Any:
        return await self.start("winnow/ask", {"question": question, **fields})[1]

    async def spans(self, question: str, **fields: Any) -> Any:
        return await self.start("winnow/spans", {"question": question, **fields})[1]

    async def run(self, command: str, *arguments: Any, **fields: Any) -> Any:
        params = {"command": command, "arguments": list(arguments), **fields}
        return await self.start(types.WORKSPACE_EXECUTE_COMMAND, params)[1]

    async def refusal(self, answer: Awaitable[Any]) -> JsonRpcException:
        """The error a request ends with."""
        with pytest.raises(JsonRpcException) as caught:
            await answer
        return caught.value

    async def until(self, found: Callable[[], T], before: asyncio.Future[Any] | None = None) -> T:
        """Wait until something holds, looking again whenever the server has sent something; `before` it is answered."""
        async with asyncio.timeout(PATIENCE_S):
            while not (value := found()):
                assert before is None or not before.done(), before
                self._news.clear()
                await self._news.wait()
            return value

    async def settled(self) -> dict[str, Any]:
        """Wait until the models are loaded and the index is up to date; the status that says so."""
        return await self.until(lambda: next((s for s in self.statuses[-1:] if s["state"] == "ready"), None))

    def deltas(self, token: types.ProgressToken) -> list[dict[str, Any]]:
        return [value for value in self.values[token] if value["kind"] == "delta"]

    def kept(self, token: types.ProgressToken) -> list[dict[str, Any]]:
        return [value for value in self.values[token] if value["kind"] == "kept"]

    def said(self, token: types.ProgressToken, words: str) -> bool:
        """Whether a progress showed these words."""
        return any(words in value.get("message", "") for value in self.values[token])

    def open(self, file: Path, text: str) -> str:
        document = types.TextDocumentItem(file.as_uri(), "python", 1, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(document))
        return document.uri

    def replace(self, uri: str, text: str) -> None:
        self.edit(uri, {"text": text})

    def edit(self, uri: str, *changes: dict[str, Any]) -> None:
        params = {"textDocument": {"uri": uri, "version": 2}, "contentChanges": list(changes)}
        self.protocol.notify(types.TEXT_DOCUMENT_DID_CHANGE, params)

    def shut(self, uri: str) -> None:
        self.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def folders(self, added: Sequence[Path], removed: Sequence[Path] = ()) -> None:
        """Change the workspace's folders."""
        first, last = ([types.WorkspaceFolder(f.as_uri(), f.name) for f in fs] for fs in (added, removed))
        event = types.WorkspaceFoldersChangeEvent(first, last)
        self.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))

    def cancel(self, how: str, identity: str, token: types.ProgressToken) -> None:
        """Cancel a request by its id or by its work-done token."""
        params = {"id": identity} if how == types.CANCEL_REQUEST else {"token": token}
        self.protocol.notify(how, params)

    async def begin(self, folders: Sequence[Path], capabilities: types.ClientCapabilities, options: Any) -> None:
        """Initialize, and wait for the first status; `options` are the settings."""
        named = [types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders]
        params = types.InitializeParams(capabilities, initialization_options=options, workspace_folders=named)
        self.started = await self.initialize_session(params)
        await self.until(lambda: self.statuses)

    async def leave(self) -> None:
        """End the session in order; returns when the server has closed the connection."""
        if not self.protocol.writer.transport.is_closing():
            await self.shutdown_async(None)
            self.exit(None)
        self._stop_event.set()
        await asyncio.gather(*self._async_tasks)
        self.protocol.writer.close()
        await self.protocol.writer.wait_closed()

    def vanish(self) -> None:
        """Be gone without a word."""
        self.protocol.writer.transport.abort()

    def refuse(self, what: str) -> None:
        """Answer the server's requests for a `registration`, the `configuration` or a `question` with an error."""
        self.refused.add(what)

    def check(self, what: str) -> None:
        """Raise the error if this is refused."""
        if what in self.refused:
            raise JsonRpcException(f"no {what} here")

    def news(self) -> None:
        """Have `until` look again."""
        self._news.set()


def _progress(ls: Client, params: types.ProgressParams) -> None:
    ls.values[params.token].append(params.value)
    ls.news()


def _status(ls: Client, params: dict[str, Any]) -> None:
    ls.statuses.append(params)
    ls.news()


def _kept(ls: Client, params: dict[str, Any]) -> None:
    ls.values[params["token"]].append({"kind": "kept", **params})
    ls.news()


def _message(ls: Client, params: types.ShowMessageParams) -> None:
    ls.messages.append(params)
    ls.news()


def _show(ls: Client, params: types.ShowDocumentParams) -> types.ShowDocumentResult:
    ls.shown_documents.append(params)
    return types.ShowDocumentResult(ls.show_succeeds)


def _asked(ls: Client, params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
    ls.check("question")
    ls.asked.append(params)
    return types.MessageActionItem(ls.choice) if ls.choice else None


def _apply(ls: Client, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
    ls.applied.append(params.edit)
    return ls.applying


def _created(ls: Client, params: types.WorkDoneProgressCreateParams) -> None:
    ls.values[params.token].append({"kind": "created"})


def _register(ls: Client, params: types.RegistrationParams) -> None:
    ls.check("registration")
    ls.registered.extend(params.registrations)
    ls.news()


def _settings(ls: Client, params: types.ConfigurationParams) -> list[Any]:
    ls.check("configuration")
    return [ls.get_configuration(section=item.section) for item in params.items]


HANDLERS = {
    types.PROGRESS: _progress,
    "winnow/status": _status,
    "winnow/kept": _kept,
    types.WINDOW_SHOW_MESSAGE: _message,
    types.WINDOW_SHOW_DOCUMENT: _show,
    types.WINDOW_SHOW_MESSAGE_REQUEST: _asked,
    types.WORKSPACE_APPLY_EDIT: _apply,
    types.WINDOW_WORK_DONE_PROGRESS_CREATE: _created,
    types.CLIENT_REGISTER_CAPABILITY: _register,
    types.WORKSPACE_CONFIGURATION: _settings,
}


class RawClient:
    """A connection for bytes that no client would send."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self.writer = reader, writer

    def send(self, message: object) -> None:
        """Send one message; `bytes` go as its body as they are."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    async def receive(self) -> dict[str, Any] | None:
        """The next response, notifications left out; None at the end of the connection."""
        async with asyncio.timeout(PATIENCE_S):
            while (body := await self._body()) is not None:
                message = json.loads(body)
                if "method" not in message:
                    return message
        return None

    async def _body(self) -> bytes | None:
        try:
            header = await self._reader.readuntil(b"\r\n\r\n")
            length = int(header.partition(b"Content-Length: ")[2].split(b"\r\n")[0])
            return await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None

    async def close(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()

    async def call(self, method: str, params: object = None, identity: object = 1) -> dict[str, Any]:
        """The response to one request."""
        self.send({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})
        answer = await self.receive()
        assert answer is not None, "the connection has ended"
        assert answer["id"] == identity
        return answer
