"""Lines that agents send, as messages for the SDK."""

import asyncio
import json
import socket
from typing import Any

import pytest

from winnow_lsp.mcp.serving import message_streams

PATIENCE_S = 120


async def answered(*lines: bytes) -> list[dict[str, Any]]:
    """What is answered to lines before a request that can be read has passed through."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    client, to_server = await asyncio.open_connection(sock=theirs)
    for line in (*lines, b'{"jsonrpc": "2.0", "id": "last", "method": "ping"}'):
        to_server.write(line + b"\n")
    async with asyncio.timeout(PATIENCE_S), message_streams(reader, writer) as (received, to_send), received, to_send:
        async for message in received:
            if not isinstance(message, Exception):
                break
    writer.close()
    found = (await client.read()).splitlines()
    to_server.close()
    return [json.loads(line) for line in found]


@pytest.mark.parametrize(
    "params",
    [
        b'{"name": "find_code", "arguments": {"question": "half a smile: \\ud83d"}}',
        b'{"name": "outline", "arguments": ' + b"[" * 300 + b"]" * 300 + b"}",
        b'"outline"',
    ],
)
@pytest.mark.parametrize("identity", [7, "seven", "\ud800"])
async def test_a_request_that_cannot_be_read_is_answered(params: bytes, identity: object) -> None:
    line = b'{"jsonrpc": "2.0", "method": "tools/call", "id": %b, "params": %b}'
    [answer] = await answered(line % (json.dumps(identity).encode(), params))
    assert (answer["id"], answer["error"]["code"]) == (identity, -32600)
    assert answer["error"]["message"].startswith("the request cannot be read: ")


async def test_what_is_no_request_is_not_answered() -> None:
    notification = b'{"jsonrpc": "2.0", "method": "notifications/progress", "params": 5}'
    response = b'{"jsonrpc": "2.0", "id": 1, "result": "\\ud83d"}'
    odd = b'{"jsonrpc": "2.0", "id": true, "method": "ping"}'
    assert await answered(b"", b"{", b"\xff", b"[" * 300_000, b"[]", b"5", notification, response, odd) == []
