"""The plan by which several workers encode the files of one workspace.

Files are dealt in chunks of a fixed size. A batch never holds segments of two chunks, so that what is encoded together
does not depend on the number of workers. A chunk whose worker is lost goes to the next one.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYetError
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from typing import Protocol

from winnow_engine.core import Cancellation
from winnow_engine.encoder.file_encoder import FileKeys, FileText

CHUNK_CHARACTERS = {"cpu": 32_000, "resident": 1_000_000}
"""About four batches, by the place of a drafter."""
_AT_ONCE = 2  # chunks that a worker has, so that it need not wait for the next
_ATTEMPTS = 3  # of a chunk, before it is encoded here; of a worker, to start
_POLL_S = 0.1

Texts = list[FileText]


class WorkerLostError(Exception):
    """A worker ended, or cannot be reached."""


class Worker(Protocol):
    """A drafter elsewhere. It answers chunks in the order in which they were sent."""

    def start(self) -> None:
        """Wait until it is ready. Raises WorkerLostError, or what kept its drafter from loading."""

    def send(self, texts: Texts) -> None:
        """Have a chunk encoded. Raises WorkerLostError."""

    def receive(self) -> list[FileKeys]:
        """The keys of the next chunk. Raises WorkerLostError, or what encoding raised."""

    def close(self) -> None:
        """End it, whatever it does."""


@dataclass(slots=True)
class _Chunk:
    texts: Texts
    keys: Future[list[FileKeys]] = field(default_factory=Future)
    attempts: int = 0


class Fleet:
    """Encodes files with `count` workers, which start at once.

    `open_worker` starts the one with a number. `here` encodes what no worker can; `place` is where drafters live.
    """

    def __init__(
        self,
        count: int,
        open_worker: Callable[[int], Worker],
        here: Callable[[Texts], list[FileKeys]],
        place: str,
    ) -> None:
        self._count, self._open_worker, self._here, self._place = count, open_worker, here, place
        self._chunks: SimpleQueue[_Chunk | None] = SimpleQueue()
        self._open: dict[int, Worker] = {}
        self._closed = False
        self._lock = threading.Lock()
        self.notices: list[str] = []
        """Which workers were lost, and what became of their work."""
        self._threads = [threading.Thread(target=self._drive, args=(number,)) for number in range(count)]
        for thread in self._threads:
            thread.start()

    def encode(self, files: Iterable[FileText], cancellation: Cancellation) -> Iterator[FileKeys]:
        """As `Drafter.encode`. `files` is read a few chunks ahead of the workers."""
        waiting: deque[_Chunk] = deque()
        try:
            for texts in chunks(files, CHUNK_CHARACTERS[self._place]):
                cancellation.check()
                waiting.append(_Chunk(texts))
                self._chunks.put(waiting[-1])
                while len(waiting) > (_AT_ONCE + 1) * self._count:
                    yield from self._done(waiting.popleft(), cancellation)
            while waiting:
                yield from self._done(waiting.popleft(), cancellation)
        finally:
            for chunk in waiting:
                chunk.keys.cancel()

    def close(self) -> None:
        """End the workers, whatever they do."""
        with self._lock:
            self._closed = True
            opened = list(self._open.values())
        for worker in opened:
            worker.close()
        for _ in self._threads:
            self._chunks.put(None)
        for thread in self._threads:
            thread.join()

    def _done(self, chunk: _Chunk, cancellation: Cancellation) -> list[FileKeys]:
        """The keys of a chunk, once they are there. Raises CancelledError, or what encoding raised."""
        while True:
            cancellation.check()
            try:
                return chunk.keys.result(_POLL_S)
            except NotYetError:
                continue

    def _drive(self, number: int) -> None:
        """Give one worker its chunks until the fleet is closed. A lost worker is opened again a few times."""
        failures = 0
        while not self._closed and failures < _ATTEMPTS:
            sent: deque[_Chunk] = deque()
            try:
                worker = self._opened(number)
                while self._supply(worker, sent):
                    _settle(sent[0], worker.receive)
                    sent.popleft()
                    failures = 0
                return
            except WorkerLostError as error:
                failures += 1
                self._lost(number, sent, error)
            except Exception as error:  # whatever keeps one drafter from loading is told by the first chunk
                self._fail(error)
                return
        self._do_here()

    def _opened(self, number: int) -> Worker:
        """A worker that is ready. Raises WorkerLostError, or what kept its drafter from loading."""
        worker = self._open_worker(number)
        with self._lock:
            self._open[number] = worker
            if self._closed:
                worker.close()
        worker.start()
        return worker

    def _supply(self, worker: Worker, sent: deque[_Chunk]) -> bool:
        """See that the worker has enough to do. Waits if it has nothing; False once the fleet is closed."""
        while len(sent) < _AT_ONCE and (not sent or not self._chunks.empty()):
            chunk = self._chunks.get()
            if chunk is None:
                self._chunks.put(None)  # for whoever asks next
                break
            if chunk.attempts >= _ATTEMPTS:
                _settle(chunk, partial(self._here, chunk.texts))
            elif not chunk.keys.cancelled():
                sent.append(chunk)
                worker.send(chunk.texts)
        return bool(sent)

    def _lost(self, number: int, sent: deque[_Chunk], error: WorkerLostError) -> None:
        """Give the chunks of a lost worker to others."""
        with self._lock:
            worker = self._open.pop(number, None)
        if worker is not None:
            worker.close()
        if self._closed:
            return
        self.notices.append(f"worker {number + 1} was lost: {error}; its work is done again")
        for chunk in sent:
            chunk.attempts += 1
            self._chunks.put(chunk)

    def _do_here(self) -> None:
        """Take a worker's part with the drafter of this process."""
        while not self._closed and (chunk := self._chunks.get()) is not None:
            _settle(chunk, partial(self._here, chunk.texts))
        self._chunks.put(None)

    def _fail(self, error: Exception) -> None:
        """Answer chunks with an error."""

        def failing() -> list[FileKeys]:
            raise error

        while not self._closed and (chunk := self._chunks.get()) is not None:
            _settle(chunk, failing)
        self._chunks.put(None)


def chunks(files: Iterable[FileText], characters: int) -> Iterator[Texts]:
    """Files together until they have so many characters. It goes by the files alone."""
    chunk: Texts = []
    size = 0
    for file in files:
        chunk.append(file)
        size += file.characters
        if size >= characters:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _settle(chunk: _Chunk, keys: Callable[[], list[FileKeys]]) -> None:
    """Give a chunk its keys, or the error that encoding it raised. WorkerLostError is none of its own."""
    try:
        found = keys()
    except WorkerLostError:
        raise
    except Exception as error:
        if chunk.keys.set_running_or_notify_cancel():
            chunk.keys.set_exception(error)
    else:
        if chunk.keys.set_running_or_notify_cancel():
            chunk.keys.set_result(found)
