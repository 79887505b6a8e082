"""MCP's messages on a byte stream, one a line, as the SDK's streams (MCP 2025-11-25, Transports, stdio)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from winnow_engine.errors import NotJsonError
from winnow_engine.untrusted import read_json

_Received = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[_Received], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def message_streams(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> AsyncIterator[Streams]:
    """The messages that come and go. The first ends when the client leaves; what is no message is an exception in it.

    A request that cannot be read is answered here. A line longer than the reader's limit ends the first, too.
    """
    received_in, received = anyio.create_memory_object_stream[_Received]()
    to_send, to_send_out = anyio.create_memory_object_stream[SessionMessage]()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_read, reader, received_in, writer)
        tasks.start_soon(_write, to_send_out, writer)
        try:
            yield received, to_send
        finally:
            tasks.cancel_scope.cancel()


async def _read(
    reader: asyncio.StreamReader, received: MemoryObjectSendStream[_Received], writer: asyncio.StreamWriter
) -> None:
    async with received:
        with suppress(ConnectionError, ValueError, anyio.BrokenResourceError):
            while lines := await reader.readline():
                for line in _each(lines):
                    message = _message(line)
                    if isinstance(message, ValidationError):
                        writer.write(_refusal(line, message))
                    await received.send(message)


def _each(line: bytes) -> list[bytes]:
    """The messages of a line: none, one, or the several of a batch (2025-03-26). Each is answered by itself."""
    if not line.lstrip().startswith(b"["):
        return [line] if line.strip() else []
    try:
        found = read_json(line)
        return [json.dumps(one).encode() for one in found]
    except (NotJsonError, RecursionError):
        return [line]


def _message(line: bytes) -> _Received:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


def _refusal(line: bytes, problem: ValidationError) -> bytes:
    """The line that answers a request which the SDK cannot read, such as half a character; nothing if it is no request.

    The SDK only logs it, and the client would wait for its answer.
    """
    try:
        found = read_json(line)
    except NotJsonError:
        return b""
    identity = found.get("id") if isinstance(found, dict) and "method" in found else None
    if not isinstance(identity, int | str) or isinstance(identity, bool):
        return b""
    told = f"the request cannot be read: {problem.errors(include_url=False)[0]['msg']}"
    answer = {"jsonrpc": "2.0", "id": identity, "error": {"code": types.INVALID_REQUEST, "message": told}}
    return json.dumps(answer).encode() + b"\n"


async def _write(to_send: MemoryObjectReceiveStream[SessionMessage], writer: asyncio.StreamWriter) -> None:
    async with to_send:
        with suppress(ConnectionError):
            async for message in to_send:
                line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                writer.write(line.encode() + b"\n")
                await writer.drain()
