"""JSON-RPC 2.0 messages, each on a line of its own, as the Agent Client Protocol sends them."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import RawIOBase
from typing import Any, BinaryIO

from winnow_engine.errors import NotJsonError
from winnow_engine.untrusted import read_json
from winnow_lsp.host.standard_output import take_standard_output, write_whole

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, FAILED, NOT_FOUND = -32602, -32603, -32002

Identity = int | str | None


class RequestError(Exception):
    """A request that is answered with an error. The message says what is wrong, and what to do about it."""

    def __init__(self, code: int, message: str, kind: str | None = None) -> None:
        super().__init__(message)
        self.code, self.kind = code, kind


class JsonRpcLines:
    """Both directions of a conversation. Any thread may send."""

    def __init__(self, source: BinaryIO, sink: RawIOBase) -> None:
        self._source, self._sink, self._lock = source, sink, threading.Lock()

    def messages(self) -> Iterator[dict[str, Any]]:
        """Requests and notifications as they arrive; whatever else does is answered with an error or ignored."""
        for line in self._source:
            if line.strip():
                yield from self._read(line)

    def reply(self, identity: Identity, result: Mapping[str, Any]) -> None:
        """Answer a request."""
        self._send({"id": identity, "result": result})

    def refuse(self, identity: Identity, error: RequestError) -> None:
        """Answer a request with an error."""
        data = {} if error.kind is None else {"data": {"kind": error.kind}}
        self._send({"id": identity, "error": {"code": error.code, "message": str(error), **data}})

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell the client something."""
        self._send({"method": method, "params": params})

    def _read(self, line: bytes) -> Iterator[dict[str, Any]]:
        try:
            message = read_json(line)
        except NotJsonError:
            self.refuse(None, RequestError(PARSE_ERROR, "a line is not JSON"))
            return
        if not isinstance(message, dict) or not _is_identity(message.get("id")):
            self.refuse(None, RequestError(INVALID_REQUEST, "a message is not a JSON-RPC object"))
        elif isinstance(message.get("method"), str):
            yield message
        elif not {"result", "error"} & message.keys():  # responses are to nobody: Winnow asks the client nothing
            self.refuse(message.get("id"), RequestError(INVALID_REQUEST, "a request has no method"))

    def _send(self, message: Mapping[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        with self._lock, suppress(BrokenPipeError):  # a client that has gone; the end of its messages says so
            write_whole(self._sink, line)


def standard_streams() -> JsonRpcLines:
    """The client on standard input and output. Whatever else writes to standard output reaches standard error."""
    return JsonRpcLines(sys.stdin.buffer, take_standard_output())


def _is_identity(value: object) -> bool:
    return value is None or (isinstance(value, int | str) and not isinstance(value, bool))
