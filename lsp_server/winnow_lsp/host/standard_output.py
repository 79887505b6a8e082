"""Standard output as a protocol's: only its messages go there, and each goes there whole."""

from __future__ import annotations

import os
import sys
from io import FileIO, RawIOBase


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
