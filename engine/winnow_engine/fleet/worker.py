"""A drafter in a process of its own: `python -m winnow_engine.fleet.worker MODEL THREADS`.

It reads chunks from standard input and answers each in turn on standard output, pickled. It ends with its input.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import BinaryIO

from winnow_engine.core import Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.file_encoder import FileKeys
from winnow_engine.fleet.fleet import Texts

AT_ONCE = 2
"""Chunks that are encoded at the same time: while a device reads one, the other's text is prepared."""


def encode(drafter: Drafter, texts: Texts) -> list[FileKeys]:
    """The keys of a chunk."""
    return list(drafter.encode(texts, Cancellation(), fixed_batches=True))


def serve(drafter: Drafter, requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer every chunk that comes: its keys, or what encoding raised."""
    waiting: Queue[Future[list[FileKeys]] | None] = Queue()
    with ThreadPoolExecutor(AT_ONCE) as pool:

        def read() -> None:
            try:
                while True:
                    waiting.put(pool.submit(encode, drafter, pickle.load(requests)))
            except (EOFError, OSError):
                waiting.put(None)

        Thread(target=read, daemon=True).start()
        while (future := waiting.get()) is not None:
            answer = future.exception() or future.result()
            pickle.dump(answer, answers, protocol=5)
            answers.flush()


def main(model: str, threads: str) -> None:
    """Load the model, say its identity and serve; what loading raises is the first answer."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in a terminal reaches it, too; the other end decides
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # what libraries print must not get among the answers
        try:
            drafter = Drafter(Path(model), threads=int(threads))
        except Exception as error:
            pickle.dump(error, answers)
            return
        pickle.dump(drafter.identity, answers)
        answers.flush()
        serve(drafter, sys.stdin.buffer, answers)


if __name__ == "__main__":
    main(*sys.argv[1:])
