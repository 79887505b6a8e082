"""From bytes to bodies, however the bytes arrive."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow_lsp.server.wire import transport
from winnow_lsp.server.wire.transport import FramingError, Outbox, read_body


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


async def bodies(stream: bytes) -> list[bytes]:
    """Every body up to the end of the stream."""
    reader = asyncio.StreamReader()
    reader.feed_data(stream)
    reader.feed_eof()
    found = []
    while (body := await read_body(reader)) is not None:
        found.append(body)
    return found


@settings(deadline=None)
@given(sent=st.lists(st.binary(max_size=200), max_size=5))
def test_every_body_comes_out_as_it_went_in(sent: list[bytes]) -> None:
    assert asyncio.run(bodies(b"".join(map(framed, sent)))) == sent


async def test_a_body_may_arrive_byte_by_byte() -> None:
    reader = asyncio.StreamReader()
    reading = asyncio.create_task(read_body(reader))
    for byte in framed(b'{"a": 1}'):
        reader.feed_data(bytes([byte]))
        await asyncio.sleep(0)
    assert await reading == b'{"a": 1}'


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
        b"Content-Type: x\r\ncontent-length:2\r\n\r\n",
        b"CONTENT-LENGTH:   2  \n\n",
    ],
)
async def test_headers_are_read_as_http_has_them(header: bytes) -> None:
    assert await bodies(header + b"{}") == [b"{}"]


@pytest.mark.parametrize("line", [b'{"jsonrpc": "2.0"}', b"GET / HTTP/1.1", b"Content-Length"])
async def test_a_line_that_is_no_header_ends_the_conversation(line: bytes) -> None:
    with pytest.raises(FramingError, match="not a header"):
        await bodies(b"Content-Type: x\r\n" + line + b"\r\n\r\n" + framed(b"{}"))


async def test_a_body_too_long_to_be_meant_is_refused() -> None:
    with pytest.raises(FramingError, match="announced"):
        await bodies(b"Content-Length: %d\r\n\r\n" % (transport.LONGEST_BODY + 1))


async def test_a_header_without_an_end_is_refused() -> None:
    with pytest.raises(FramingError, match="no end"):
        await bodies(b"x" * (1 << 17))


class Pipe:
    """A writer and its transport, which keeps what the client does not read."""

    def __init__(self) -> None:
        self.transport = self
        self.data, self.aborted, self.closed = bytearray(), False, False

    def write(self, data: bytes) -> None:
        self.data += data

    def is_closing(self) -> bool:
        return self.aborted or self.closed

    def get_write_buffer_size(self) -> int:
        return len(self.data)

    def abort(self) -> None:
        self.aborted = True

    def close(self) -> None:
        self.closed = True


def test_a_client_that_stopped_reading_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MOST_UNREAD", 10)
    pipe = Pipe()
    outbox = Outbox(pipe)
    outbox.write(b"0123456789")
    assert not pipe.aborted
    outbox.write(b"x")
    assert pipe.aborted
    outbox.write(b"more")
    assert pipe.data == b"0123456789x"
