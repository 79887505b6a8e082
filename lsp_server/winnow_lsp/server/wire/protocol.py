"""JSON-RPC as pygls does it, made strict where it is lenient and lenient where it gives up.

pygls drops a malformed request without an answer, ends the process on `exit`, and cannot cancel a running command.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache
from typing import Any, get_args, get_origin

import cattrs.v
from lsprotocol import types
from lsprotocol.types import LSPErrorCodes
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
    JsonRpcServerNotInitialized,
)
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method

from winnow_engine.errors import NotJsonError, PositionError, WinnowError
from winnow_engine.untrusted import read_json
from winnow_lsp.server.wire.messages import MESSAGES, AskParams, EditParams

_log = logging.getLogger(__name__)


@cache
def converter() -> cattrs.Converter:
    """Converts between JSON and types. All clients share it, because it grows to megabytes as it meets types."""
    made: cattrs.Converter = default_converter()  # type: ignore[no-untyped-call]
    made.register_structure_hook(AskParams, lambda value, _: AskParams.read(value))
    made.register_structure_hook(EditParams, lambda value, _: EditParams.read(value))
    made.register_structure_hook_factory(_is_sequence, lambda kind: _list_hook(made, kind))
    return made


def _is_sequence(kind: Any) -> bool:
    return get_origin(kind) is Sequence


def _list_hook(made: cattrs.Converter, kind: Any) -> Callable[[Any, Any], tuple[Any, ...]]:
    """Lists only, up to the first bad item: cattrs would describe each character of a string, for seconds."""
    (item,) = get_args(kind)

    def structure(value: Any, _: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError("not a list")
        return tuple(made.structure(part, item) for part in value)

    return structure


class StrictProtocol(LanguageServerProtocol):
    """One client's conversation. `left` says whether the client has ended it."""

    left = False

    def get_message_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        """The type of a request or notification. Not cached by `self`, which would keep every client alive."""
        return MESSAGES.get(method) or types.METHOD_TO_TYPES.get(method, (None,))[0]

    def get_result_type(self, method: str) -> type[Any] | None:  # type: ignore[override]
        """The type of a response."""
        return types.METHOD_TO_TYPES.get(method, (None, None))[1]

    def receive(self, body: bytes) -> None:
        """Act on one message. Never raises: a request that makes no sense gets an error."""
        try:
            data = read_json(body, parse_constant=_finite, parse_float=_finite)
        except NotJsonError:
            self._refuse(None, JsonRpcParseError())
            return
        if not isinstance(data, dict) or not self._is_message(data):
            self._refuse(None, JsonRpcInvalidRequest())
            return
        try:
            self._check_kind(data)
            self._check_order(data)
            self.handle_message(self.structure_message(data))
        except JsonRpcException as error:
            self._refuse(data, error)
        except Exception as error:
            _log.debug("malformed message", exc_info=True)
            self._refuse(data, JsonRpcInvalidParams(_explanation(error)))

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A message as its type. Raises cattrs' own errors, which say what is wrong with it."""
        known = self.get_message_type(data.get("method", ""))
        data = {"params": None, **data} if "method" in data else data  # lsprotocol wants params, which may be left out
        return super().structure_message(data) if known is None else self._converter.structure(data, known)

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(self, params: types.ExecuteCommandParams) -> Any:  # type: ignore[override]
        """Run a command as a task of its own, which `$/cancelRequest` cancels. The command gets all of `params`."""
        handler = self.fm.commands.get(params.command)
        if handler is None:
            raise JsonRpcInvalidParams(f"there is no command {params.command!r}")
        return await handler(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> Any:
        """Apply edits, but only to open documents: pygls would read any other from wherever its URI points."""
        uri = params.text_document.uri
        if all(document.uri != uri for document in self.workspace.text_documents.values()):
            _log.warning("change of a document that is not open: %s", uri)
            return
        yield from super().lsp_text_document__did_change(params)

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: Any) -> None:  # type: ignore[override]
        """End this client's conversation; the process may have others."""
        self.left = True

    @property
    def tasks(self) -> list[asyncio.Task[Any]]:
        """The handlers that still run."""
        running: Iterable[object] = self._request_futures.values()
        return [task for task in running if isinstance(task, asyncio.Task) and not task.done()]

    @property
    def orderly(self) -> bool:
        """True if the client asked to shut down before it left."""
        return bool(self._shutdown)

    def _check_handler_result(self, future: Future[Any]) -> None:
        """Forget a notification's future, which pygls keeps for good: 2 KB for every edit."""
        super()._check_handler_result(future)
        self._request_futures = {name: kept for name, kept in self._request_futures.items() if kept is not future}

    def _send_handler_result(self, future: Future[Any], *, msg_id: Any) -> None:
        """Answer a request with its handler's result. An error of the engine's is the user's to read, not a crash."""
        error = None if future.cancelled() else future.exception()
        if isinstance(error, WinnowError):
            self._request_futures.pop(msg_id, None)
            self._send_response(msg_id, error=_told(error).to_response_error())
        else:
            super()._send_handler_result(future, msg_id=msg_id)

    def _run_generator(self, future: Future[Any] | None, *, gen: Any, result_future: Future[Any]) -> None:
        """Go on with a handler, unless it was cancelled because the client left; pygls would log a crash."""
        if future is not None and future.cancelled():
            result_future.cancel()
        else:
            super()._run_generator(future, gen=gen, result_future=result_future)

    def _send_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        """Answer a request in any case: with an error if the result, such as deeply nested data, cannot be sent."""
        try:
            super()._send_response(msg_id, result, error)
        except (RecursionError, TypeError, ValueError) as problem:
            told = JsonRpcInternalError(f"the result cannot be sent: {problem}").to_response_error()
            super()._send_response(msg_id, error=told)

    def _send_data(self, data: Any) -> None:
        """Send a message. Raises if it cannot be turned into JSON; pygls would only log that."""
        assert self.writer is not None
        body = json.dumps(data, default=self._serialize_message)
        kind = f"{self.CONTENT_TYPE}; charset={self.CHARSET}"
        self.writer.write(f"Content-Length: {len(body)}\r\nContent-Type: {kind}\r\n\r\n{body}".encode("ascii"))

    def _is_message(self, data: dict[str, Any]) -> bool:
        identity = data.get("id", 0)
        sound_id = isinstance(identity, int | str) and not isinstance(identity, bool)
        is_call = isinstance(data.get("method"), str)
        is_response = "method" not in data and "id" in data and ("result" in data or "error" in data)
        return data.get("jsonrpc") == self.VERSION and sound_id and (is_call or is_response)

    def _check_kind(self, data: dict[str, Any]) -> None:
        """Refuse a notification with an id: whoever sends an id waits for a response, and there would be none."""
        method = data.get("method")
        if "id" in data and method in types.METHOD_TO_TYPES and self.get_result_type(method) is None:
            raise JsonRpcMethodNotFound(f"`{method}` is a notification: it takes no id")

    def _check_order(self, data: dict[str, Any]) -> None:
        method = data.get("method")
        if method is None or method == types.EXIT:
            return
        started = self._workspace is not None
        if not started and method != types.INITIALIZE:
            raise JsonRpcServerNotInitialized("the first request must be `initialize`")
        if started and method == types.INITIALIZE:
            raise JsonRpcInvalidRequest("`initialize` came before")
        if self._shutdown:
            raise JsonRpcInvalidRequest("the server is shutting down")

    def _refuse(self, data: dict[str, Any] | None, error: JsonRpcException) -> None:
        """Answer a request with an error; only log any other message."""
        if data is None:
            # as a dict, because lsprotocol leaves out an `id` of null, which JSON-RPC requires
            self._send_data({"jsonrpc": self.VERSION, "id": None, "error": error.to_response_error()})
        elif "method" in data and "id" in data:
            self._send_response(data["id"], error=error.to_response_error())
        else:
            _log.warning("ignored %s: %s", data.get("method", "a response"), error)


def _finite(number: str) -> float:
    """A number that can be sent back. JSON has neither NaN nor infinity, and 1e999 would become infinity."""
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is not a number that JSON can carry")
    return value


def _explanation(error: Exception) -> str:
    if isinstance(error, cattrs.BaseValidationError):
        return "; ".join(cattrs.transform_error(error, format_exception=_reason))
    return f"Invalid Params: {error}"


def _reason(error: BaseException, expected: type | None) -> str:
    """One thing that is wrong: in the words of our own checks, or in those of cattrs."""
    own = type(error) is ValueError and expected in (AskParams, EditParams)
    return str(error) if own else cattrs.v.format_exception(error, expected)


@contextmanager
def parsing() -> Iterator[None]:
    """Turn a ValueError into InvalidParams. For reading requests only: elsewhere a ValueError is a bug of ours."""
    try:
        yield
    except ValueError as error:
        raise _told(error) from error


def _told(error: Exception) -> JsonRpcException:
    """An error in words that a user can read; `data.kind` names its class."""
    kind = {"kind": type(error).__name__}
    if isinstance(error, WinnowError) and not isinstance(error, PositionError):
        return JsonRpcException(str(error), LSPErrorCodes.RequestFailed.value, kind)
    return JsonRpcInvalidParams(str(error), data=kind)
