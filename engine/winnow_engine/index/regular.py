"""Reads regular files, and nothing else, whatever a tree holds."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from winnow_engine.system import READ_FLAGS


def read_regular(path: Path | str, limit: int) -> bytes:
    """The first `limit` bytes of a regular file.

    Raises OSError if there is no such file. Also, without waiting, for a symbolic link, a FIFO, a socket or a
    device, even if the path became one only after it was listed.
    """
    try:
        handle = os.open(path, READ_FLAGS)
    except ValueError as error:  # a NUL in the path
        raise OSError(errno.EINVAL, "not a path", str(path)) from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(limit)
    finally:
        os.close(handle)
