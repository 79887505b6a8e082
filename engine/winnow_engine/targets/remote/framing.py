"""Cuts a streamed answer into its JSON documents."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from winnow_engine.errors import TargetProtocolError
from winnow_engine.targets.remote.sse import LONGEST_LINE, events


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
