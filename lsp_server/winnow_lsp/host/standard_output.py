"""Standard input and output as a protocol's: only its messages go out, and each goes out whole."""

from __future__ import annotations

import logging
import os
import socket
import sys
from contextlib import suppress
from io import BufferedReader, FileIO, RawIOBase
from threading import Thread

_CHUNK = 1 << 16
_log = logging.getLogger(__name__)


def take_standard_output() -> FileIO:
    """Standard output, without a buffer. Whatever else writes there, llama.cpp included, reaches standard error."""
    output = FileIO(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return output


def write_whole(sink: RawIOBase, data: bytes) -> None:
    """Write all of some bytes to a stream without a buffer, which may take a part of them at a time."""
    left = memoryview(data)
    while left:
        left = left[sink.write(left) :]


def pass_on(source: BufferedReader, connection: socket.socket) -> None:
    """Send what `source` gives until it ends, and then that it has ended."""
    with suppress(OSError):
        while data := source.read1(_CHUNK):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)


def bridged(source: BufferedReader, sink: RawIOBase) -> tuple[socket.socket, Thread]:
    """A socket for two streams that asyncio cannot wait for, and the thread that writes until that is closed."""
    near, far = socket.socketpair()
    writing = Thread(target=_pass_back, args=(far, sink), daemon=True)
    writing.start()
    Thread(target=pass_on, args=(source, far), daemon=True).start()
    return near, writing


def _pass_back(connection: socket.socket, sink: RawIOBase) -> None:
    with connection:
        try:
            while data := connection.recv(_CHUNK):
                write_whole(sink, data)
        except ConnectionError:  # the client has left
            return
        except OSError as error:
            _log.error("cannot write the output: %s", error.strerror)
