"""Messages on a byte stream: a `Content-Length` header, an empty line, a body (LSP 3.17, Base Protocol)."""

from __future__ import annotations

import asyncio
import re
from typing import Protocol

_HEADER = re.compile(rb"[A-Za-z-]+:.*")
_LENGTH = re.compile(rb"content-length:\s*(\d{1,18})", re.IGNORECASE)

LONGEST_BODY = 256 << 20
"""Bytes. No editor sends more; a stream that announces more is out of step and cannot be read on."""

MOST_UNREAD = 64 << 20
"""Bytes written that a client may leave unread before it counts as gone."""


class FramingError(Exception):
    """The stream cannot be read on."""


async def read_body(reader: asyncio.StreamReader) -> bytes | None:
    """The next message's body, or None at the end of the stream.

    Raises FramingError for a line that is not a header, such as a web page's attempt at HTTP, and for a body longer
    than LONGEST_BODY.
    """
    length: int | None = None
    try:
        while line := await reader.readline():
            header = line.strip()
            if found := _LENGTH.fullmatch(header):
                length = int(found[1])
            elif header:
                if not _HEADER.fullmatch(header):
                    raise FramingError(f"not a header: {header[:60]!r}")
            elif length is not None:
                if length > LONGEST_BODY:
                    raise FramingError(f"a message of {length:,} bytes is announced")
                return await reader.readexactly(length)
    except asyncio.IncompleteReadError:
        return None
    except ValueError as error:
        raise FramingError("a header line has no end") from error
    return None


class ByteWriter(Protocol):
    """The part of asyncio.StreamWriter that `Outbox` needs."""

    @property
    def transport(self) -> asyncio.WriteTransport:
        """The transport below."""

    def write(self, data: bytes) -> None:
        """Buffer the data and send it without waiting."""


class Outbox:
    """Sends the server's messages. Never waits: a client that stopped reading is cut off."""

    def __init__(self, writer: ByteWriter) -> None:
        self._writer = writer

    def write(self, data: bytes) -> None:
        """Send one framed message. Does nothing once the client is gone."""
        transport = self._writer.transport
        if transport.is_closing():
            return
        self._writer.write(data)
        if transport.get_write_buffer_size() > MOST_UNREAD:
            transport.abort()

    def close(self) -> None:
        """Close after what is buffered has been sent."""
        self._writer.transport.close()
