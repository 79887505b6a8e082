"""Cuts a streamed answer into its JSON documents: server-sent events or lines."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator

from winnow_engine.errors import TargetProtocolError
from winnow_engine.untrusted import json_object

Framing = Callable[[AsyncIterator[bytes]], AsyncIterator[bytes]]
"""Yields a stream's documents from its bytes."""
DONE = b"[DONE]"
LONGEST_LINE = 1 << 20
"""In bytes. A chunk of an answer has some hundreds; an endless line must not fill memory."""

_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\n|\r(?!$)")


async def events(stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The data of each event: up to a blank line, or whole JSON. TargetProtocolError beyond LONGEST_LINE."""
    held, data, alone = b"", list[bytes](), False
    async for piece in stream:
        held += piece
        alone = alone or (not data and held.lstrip().startswith(b"{"))
        *lines, held = (held,) if alone else _LINE_END.split(held)
        for whole in _dispatch(lines, data):
            yield whole
        if len(held) + sum(len(line) + 1 for line in data) > LONGEST_LINE:
            raise TargetProtocolError(f"the target's server sent a line of over {LONGEST_LINE:,} bytes")
    if alone:
        yield held
    for whole in _dispatch([held.rstrip(b"\r")], data):
        yield whole
    if _is_whole(data):
        yield b"\n".join(data)


def _dispatch(lines: list[bytes], data: list[bytes]) -> Iterator[bytes]:
    """Collect `data` fields. A blank line ends an event. Comments, empty fields and others are ignored."""
    for line in lines:
        field, _, value = line.partition(b":")
        if field.removeprefix(_BOM) == b"data" and (value := value.strip()):
            if len(data) == 1 and _is_whole(data):  # an event of more lines is parsed once, at its end
                yield data.pop()
            data.append(value)
        elif not line and data:
            yield b"\n".join(data)
            data.clear()


def _is_whole(data: list[bytes]) -> bool:
    text = b"\n".join(data)
    return bool(text) and (text == DONE or json_object(text) is not None)


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
