"""Server-sent events: turns a stream of bytes into the data of each event.

The lines of httpx are of no use here: they also end at U+2028, which JSON may hold, and have no limit.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

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
