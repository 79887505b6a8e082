"""A process that parses files for another one: `python -m winnow_engine.index.parse_worker FD...`.

It imports the parsers once, then forks a child for each socket. A child answers lists of files with lists of records
until the other end closes, which also happens when that process dies.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from collections.abc import Sequence
from multiprocessing.connection import Connection

from winnow_engine.index.records import analysed
from winnow_engine.storage.packs import Record

Text = tuple[str, bytes]  # A file's path, which tells its language, and its content

READY = b"ready"  # the first thing that a process says
_COMMON = ("warm.py", "warm.c", "warm.ts", "warm.js", "warm.go", "warm.rs", "warm.java", "warm.md")


def main(sockets: Sequence[int]) -> None:
    """Serve every socket from a process of its own, until all of them have ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in a terminal reaches it, too; the other end decides
    for path in _COMMON:
        analysed(path, b"word\n")  # loads the grammar, the queries and the stemmer
    for socket in sockets:
        if os.fork() == 0:
            for other in sockets:
                if other != socket:
                    os.close(other)
            _serve(Connection(socket))
            os._exit(0)
    for socket in sockets:
        os.close(socket)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def _serve(connection: Connection) -> None:
    try:
        connection.send_bytes(READY)
        while True:
            texts: list[Text] = pickle.loads(connection.recv_bytes())
            connection.send_bytes(pickle.dumps(_answer(texts), protocol=5))
    except (EOFError, OSError):
        return


def _answer(texts: list[Text]) -> list[Record] | Exception:
    try:
        return [analysed(path, data) for path, data in texts]
    except Exception as error:  # a bug of ours: the other end raises it
        return error


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]])
