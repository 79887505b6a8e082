"""A pool of processes that parse files, so that all cores are busy while a large workspace is read.

Parsing holds the GIL, so threads would not do. The processes are forked from one that has only imported the parsers
(`parse_worker.py`); this one has threads and models. They talk through sockets and end when these close.

A grammar is C code. If it crashes or hangs on a file, only a process of the pool is lost, and the file counts as plain
text.
"""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue

import winnow_engine
from winnow_engine.core import Cancellation
from winnow_engine.index.parse_worker import READY, Text
from winnow_engine.index.records import analysed, record_of
from winnow_engine.index.symbols import plain_analysis
from winnow_engine.platform import is_unix, physical_cores
from winnow_engine.runtime import batches, mapped_ahead
from winnow_engine.storage.packs import Record

SMALL_BYTES = 100_000
"""So much is analysed in this process, in about 40 ms: asking another one takes a millisecond or two, too."""
_STARTING_BYTES = 1_000_000  # what it takes longer to analyse here than to start processes for
_CHUNK_BYTES = 64_000
_TIME_LIMIT_S = 120.0  # for a chunk; a parse alone is stopped after syntax.TIME_LIMIT_S
# Starting them takes 0.3 s of a core, which is spared where few cores have to load the models meanwhile.
_CORES_TO_START_AT_ONCE = 4


class _LostError(Exception):
    """A process died, or did not answer in time."""


class _Worker:
    """This process's end of one parsing process. `ready` once that has been heard of."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self.ready = connection, False

    def analyse(self, texts: Sequence[Text]) -> list[Record]:
        """The records of files. Raises _LostError."""
        try:
            self.ready = self.ready or self._received() == READY
            self._connection.send_bytes(pickle.dumps(texts, protocol=5))
            answer = pickle.loads(self._received())
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise _LostError from error
        if isinstance(answer, Exception):
            raise answer
        records: list[Record] = answer
        return records

    def close(self) -> None:
        """Let the process end."""
        self._connection.close()

    def _received(self) -> bytes:
        if not self._connection.poll(_TIME_LIMIT_S):
            raise _LostError
        return self._connection.recv_bytes()


class ParsePool:
    """Up to `count` processes that parse files, once there is enough to do; else this one does. Safe to share."""

    def __init__(self, count: int) -> None:
        self.notices: list[str] = []
        """What the user should know: which files could not be parsed, and why none was elsewhere."""
        self._count = count if count > 1 and is_unix() and sys.executable else 0
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._threads = ThreadPoolExecutor(max(self._count, 1), "parse-pool")
        self._lock = threading.Lock()
        self._started = self._closed = False

    def start(self) -> None:
        """Start the processes, unless they have been. Does not wait for them: that takes a few tenths of a second."""
        with self._lock:
            if self._started or self._closed or not self._count:
                return
            self._started = True
            try:
                for worker in _started(self._count):
                    self._idle.put(worker)
            except OSError as error:
                self._give_up(f"files are parsed by one process, because no other can be started: {error}")

    def analysed(self, texts: Iterable[Text], total: int, cancellation: Cancellation) -> Iterator[Record]:
        """Records of files of `total` bytes, in order; small amounts are parsed here. Raises CancelledError."""
        if total >= _STARTING_BYTES:
            self.start()
        if total < SMALL_BYTES or not self._started or not self._count:
            for path, data in texts:
                cancellation.check()
                yield analysed(path, data)
            return

        chunks = batches(texts, min(_CHUNK_BYTES, total // (2 * self._count)), lambda text: len(text[1]))
        for _, records in mapped_ahead(self._threads, self._elsewhere, chunks, 3 * self._count):
            cancellation.check()
            yield from records

    def close(self) -> None:
        """End the processes, whatever they do. No file can be parsed afterwards."""
        with self._lock:
            self._closed = True
        self._threads.shutdown(wait=True, cancel_futures=True)
        while not self._idle.empty():
            self._idle.get().close()

    def _elsewhere(self, texts: list[Text]) -> list[Record]:
        """Records of a chunk. If its process is lost, each file gets another one to itself."""
        try:
            return self._asked(texts)
        except _LostError:
            return [self._alone(text) for text in texts]

    def _alone(self, text: Text) -> Record:
        """A file's record; that of plain text if no process survives it twice: the first loss may be due to others."""
        for _ in range(2):
            with suppress(_LostError):
                return self._asked([text])[0]
        path, data = text
        self.notices.append(f"{path} is taken for text in no language: its grammar crashed or did not end")
        return record_of(plain_analysis(data), data)

    def _asked(self, texts: list[Text]) -> list[Record]:
        """Records of files, from the next idle process. Raises _LostError, with another process in its place."""
        if not self._count:
            return [analysed(*text) for text in texts]
        worker = self._idle.get()
        try:
            return worker.analyse(texts)
        except _LostError:
            worker.close()
            worker = self._replacement(worker)
            raise
        finally:
            self._idle.put(worker)

    def _replacement(self, lost: _Worker) -> _Worker:
        """Another process; the lost, unusable one if there is no point in trying."""
        try:
            if lost.ready:
                return next(_started(1))
            self._give_up("files are parsed by one process, because others end as soon as they start")
        except OSError as error:
            self._give_up(f"files are parsed by one process, because no other can be started: {error}")
        return lost

    def _give_up(self, notice: str) -> None:
        if self._count:
            self._count = 0
            self.notices.append(notice)


def open_parse_pool() -> ParsePool:
    """A pool with a process for each core: started now where there are many, and elsewhere once it pays."""
    pool = ParsePool(physical_cores())
    if physical_cores() >= _CORES_TO_START_AT_ONCE:
        pool.start()
    return pool


def _started(count: int) -> Iterator[_Worker]:
    """So many processes, forked from one that ends with them. Raises OSError if it cannot be started."""
    with ExitStack() as unless_started:
        pairs = [socket.socketpair() for _ in range(count)]
        for mine, _ in pairs:
            unless_started.callback(mine.close)
        try:
            process = _run([theirs.fileno() for _, theirs in pairs])
        finally:
            for _, theirs in pairs:
                theirs.close()
        unless_started.pop_all()
    threading.Thread(target=process.wait, daemon=True).start()  # or it would stay a zombie
    for mine, _ in pairs:
        yield _Worker(Connection(mine.detach()))


def _run(sockets: list[int]) -> subprocess.Popen[bytes]:
    package = Path(winnow_engine.__file__).parent.parent
    paths = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return subprocess.Popen(
        # -P: a file of the folder that Winnow runs in must not pass for a module.
        [sys.executable, "-P", "-m", "winnow_engine.index.parse_worker", *map(str, sockets)],
        pass_fds=sockets,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # this process's may be a protocol
        env={**os.environ, **one_thread, "PYTHONPATH": os.pathsep.join(paths)},
    )
