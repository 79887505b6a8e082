"""Cuts a streamed answer into its JSON documents: server-sent events or lines."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass

from winnow_engine.errors import TargetProtocolError

LONGEST_LINE = 1 << 20
"""In bytes. A chunk of an answer has some hundreds; an endless line must not fill memory."""

_LINE_END = re.compile(rb"\r\n|\n|\r(?!$)")


async def events(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each event, with its lines joined. An event is complete once a blank line follows.

    Raises TargetProtocolError for an event over LONGEST_LINE.
    """
    held, data = b"", list[bytes]()
    async for piece in stream:
        *lines, held = _LINE_END.split(held + piece)
        for whole in _dispatch(lines, data):
            yield whole
        if len(held) + sum(map(len, data)) > LONGEST_LINE:
            raise TargetProtocolError(f"the target's server sent a line of over {LONGEST_LINE:,} bytes")
    for whole in _dispatch([line for line in (held.rstrip(b"\r"),) if held.endswith(b"\r")], data):
        yield whole


def _dispatch(lines: list[bytes], data: list[bytes]) -> Iterator[bytes]:
    """Collect `data` fields. A blank line ends an event. Comments and other fields are ignored."""
    for line in lines:
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif not line and data:
            yield b"\n".join(data)
            data.clear()


@dataclass(frozen=True, slots=True)
class Framing:
    """A stream's content type, and what yields its documents from its bytes."""

    content_type: str
    split: Callable[[AsyncIterator[bytes]], AsyncIterator[bytes]]


async def lines(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The lines that are not blank. Raises TargetProtocolError for one over LONGEST_LINE."""
    held = b""
    async for piece in stream:
        *whole, held = (held + piece).split(b"\n")
        for line in filter(bytes.strip, whole):
            yield line
        if len(held) > LONGEST_LINE:
            raise TargetProtocolError(f"the target's server sent a line of over {LONGEST_LINE:,} bytes")
    if held.strip():
        yield held


SSE = Framing("text/event-stream", events)
NDJSON = Framing("application/x-ndjson", lines)
