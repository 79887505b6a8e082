"""Several encoders for the files of one workspace: actors of a Ray cluster, which is there or started here.

Files are dealt in chunks of a fixed size. A batch never holds segments of two chunks, so the keys do not depend on the
number of workers. Ray places actors on GPUs, moves chunks and keys, and starts an actor again whose process or machine
died; its chunks are then encoded again.
"""

from __future__ import annotations

import importlib
import os
import secrets
import socket
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from winnow_engine.core import Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.file_encoder import FileKeys, FileText
from winnow_engine.errors import ClusterError, UnsupportedModelError
from winnow_engine.models.cache import given_file, locate
from winnow_engine.runtime import batches

_CONNECT_S = 10.0


def joined(address: str | None) -> Any:
    """The `ray` module, connected to the cluster at `address`, or to a new one. Raises ClusterError.

    Ray would report its use to its makers, unless told not to. A new cluster listens on all of the machine's addresses,
    so it gets a random secret. That only works before Ray is imported; a program that has done so itself decides.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if address is None and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
    try:
        ray = importlib.import_module("ray")
    except ImportError as error:
        raise ClusterError(f"Ray is not installed ({error}); pip install 'winnow-lsp[ray]'") from error
    _check_there(address)
    options: dict[str, Any] = {} if address else {"include_dashboard": False}
    try:
        ray.init(address or "local", log_to_driver=False, logging_level="error", **options)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        raise ClusterError(f"the Ray cluster {address or 'on this machine'} cannot be used: {error}") from error
    return ray


def _check_there(address: str | None) -> None:
    """Raise ClusterError if nobody listens at HOST:PORT, which Ray itself would try for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except OSError as error:
        raise ClusterError(f"the Ray cluster {address} cannot be reached: {error}; is it running?") from error


CHUNK_CHARACTERS = {"cpu": 32_000, "resident": 1_000_000}  # about four batches, by the place of a drafter
AT_ONCE = 2  # chunks that an actor encodes at the same time: while a device reads one, the other's text is prepared
_WAITING = AT_ONCE + 1  # chunks an actor has, so that it need not wait for the next
_RESTARTS, _RETRIES = 5, 2  # of an actor; of a chunk, before it is encoded here
_POLL_S = 0.1

Texts = list[FileText]


class DrafterActor:
    """The drafter in an actor. `model` is a name of the registry, or a path that is valid on every machine."""

    def __init__(self, model: str, threads: int) -> None:
        self._drafter = Drafter(locate(model), threads=threads)

    def identity(self) -> str:
        """The drafter's identity."""
        return self._drafter.identity

    def encode(self, texts: Texts) -> list[FileKeys]:
        """The keys of a chunk."""
        return encode(self._drafter, texts)


class Fleet:
    """Encodes files with actors of a cluster, which it leaves when it is closed."""

    def __init__(self, model: str, drafter: Drafter, count: int | None, address: str | None) -> None:
        """`count` actors, or as many as the cluster has GPUs, at least one; `drafter` is the one of this process.

        Without GPUs they are no more than the cores: one that finds no room would be waited for for ever.

        Without an `address` a cluster is started on this machine, and ends with the fleet. Raises ClusterError.
        """
        # Linux ends a cluster that was started here when the thread ends that started it, so this is one that stays.
        self._keeper = ThreadPoolExecutor(1)
        self._ray = self._keeper.submit(joined, address).result()
        self._drafter = drafter
        gpus, cores = (int(self._ray.cluster_resources().get(name, 0)) for name in ("GPU", "CPU"))
        count = count or max(gpus, 1)
        count = count if gpus else min(count, max(cores, 1))
        threads = 2 if gpus else max(cores // count, 1)
        actors = self._ray.remote(DrafterActor).options(
            num_gpus=1 / -(-count // gpus) if gpus else 0,
            num_cpus=0 if gpus else threads,
            max_concurrency=AT_ONCE,
            max_restarts=_RESTARTS,
            max_task_retries=_RETRIES,
        )
        file = given_file(model)  # a path counts from here, and has to exist on the other machines as well
        name = model if file is None else str(file.resolve())
        self._actors = [actors.remote(name, threads) for _ in range(count)]
        self._identities = [actor.identity.remote() for actor in self._actors]
        self._lost: set[int] = set()
        self.notices: list[str] = []
        """Losses of actors that were not made good by others, for the user."""

    def encode(self, files: Iterable[FileText], cancellation: Cancellation) -> Iterator[FileKeys]:
        """As `Drafter.encode`. `files` is read a few chunks ahead of the actors."""
        self._check_identities(cancellation)
        waiting: deque[tuple[Texts, int, Any]] = deque()
        for texts in chunks(files, CHUNK_CHARACTERS[self._drafter.place]):
            cancellation.check()
            number = self._least_busy([(number, sent) for _, number, sent in waiting])
            waiting.append((texts, number, self._actors[number].encode.remote(texts)))
            while len(waiting) > _WAITING * len(self._actors):
                yield from self._encoded(*waiting.popleft(), cancellation)
        while waiting:
            yield from self._encoded(*waiting.popleft(), cancellation)

    def close(self) -> None:
        """End the actors, whatever they do, and leave the cluster."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._ray.shutdown()
        self._keeper.shutdown()

    def _check_identities(self, cancellation: Cancellation) -> None:
        """Wait for the actors. Raises UnsupportedModelError if the drafter of one would make other keys."""
        while self._identities:
            try:
                found = self._got(self._identities[-1], cancellation)
            except self._ray.exceptions.RayError as error:
                raise ClusterError(f"a worker does not start: {_first_line(error)}") from error
            if found != self._drafter.identity:
                raise UnsupportedModelError("a worker has another drafter; give all machines the same file and version")
            self._identities.pop()

    def _least_busy(self, sent: Sequence[tuple[int, Any]]) -> int:
        references = [reference for _, reference in sent]
        done = self._ray.wait(references, num_returns=len(references), timeout=0)[0] if references else []
        busy = Counter(number for number, reference in sent if reference not in done)
        return min(range(len(self._actors)), key=lambda number: (number in self._lost, busy[number]))

    def _encoded(self, texts: Texts, number: int, reference: Any, cancellation: Cancellation) -> list[FileKeys]:
        """The keys of a chunk, from its actor or, if that is lost for good, made here."""
        try:
            keys: list[FileKeys] = self._got(reference, cancellation)
        except self._ray.exceptions.RayError as error:
            self._lost.add(number)
            self.notices.append(f"worker {number + 1} was lost: {_first_line(error)}; its work is done here")
            return encode(self._drafter, texts)
        return keys

    def _got(self, reference: Any, cancellation: Cancellation) -> Any:
        """The result of a call, or what it raised. Raises Ray's error if the actor is lost, CancelledError."""
        while not self._ray.wait([reference], timeout=_POLL_S)[0]:
            cancellation.check()
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error


def encode(drafter: Drafter, texts: Texts) -> list[FileKeys]:
    """The keys of a chunk."""
    return list(drafter.encode(texts, Cancellation(), fixed_batches=True))


def chunks(files: Iterable[FileText], characters: int) -> Iterator[Texts]:
    """Files together until they have so many characters."""
    return batches(files, characters, lambda file: file.characters)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
