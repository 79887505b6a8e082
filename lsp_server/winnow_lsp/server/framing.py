"""Messages on a byte stream: a `Content-Length` header, an empty line, a body (LSP 3.17, Base Protocol)."""

from __future__ import annotations

import asyncio
import re
from typing import Protocol

_LENGTH = re.compile(rb"content-length:\s*(\d{1,18})\s*", re.IGNORECASE)

LONGEST_BODY = 256 << 20
"""Bytes. No editor sends more; a stream that claims to is out of step and cannot be read on."""

MOST_UNREAD = 64 << 20
"""Bytes written that a client may leave unread before it counts as gone."""


class FramingError(Exception):
    """The stream cannot be read on."""


async def read_body(reader: asyncio.StreamReader) -> bytes | None:
    """The next message's body; None at the end of the stream. Lines that are no header are skipped.

    Raises FramingError for a body longer than LONGEST_BODY, or a line without an end.
    """
    length: int | None = None
    try:
        while line := await reader.readline():
            if found := _LENGTH.fullmatch(line.strip()):
                length = int(found[1])
            elif not line.strip() and length is not None:
                if length > LONGEST_BODY:
                    raise FramingError(f"a message of {length:,} bytes is announced")
                return await reader.readexactly(length)
    except asyncio.IncompleteReadError:
        return None
    except ValueError as error:
        raise FramingError("a header line has no end") from error
    return None


class Writer(Protocol):
    """What `Outbox` needs of an asyncio.StreamWriter."""

    @property
    def transport(self) -> asyncio.WriteTransport:
        """The transport below."""

    def write(self, data: bytes) -> None:
        """Buffer and send, without waiting."""


class Outbox:
    """Where the server's messages go. Never waits: a client that stopped reading is cut off, not waited for."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        """Send one framed message; silently nothing once the client is gone."""
        transport = self._writer.transport
        if transport.is_closing():
            return
        self._writer.write(data)
        if transport.get_write_buffer_size() > MOST_UNREAD:
            transport.abort()

    def close(self) -> None:
        """Close after what is buffered has been sent."""
        self._writer.transport.close()
