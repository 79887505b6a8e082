"""Workers that are actors of a Ray cluster, which this command starts on this machine, or joins by an address.

Each actor has a GPU, or its share of the cores where the cluster has no GPU. Ray places actors, moves what is sent to
them, and starts an actor again whose process or machine died; what such an actor was doing is done again.
"""

from __future__ import annotations

import importlib
import os
import secrets
import socket
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.file_encoder import FileKeys
from winnow_engine.errors import ClusterError
from winnow_engine.fleet.fleet import Fleet, Texts, WorkerLostError
from winnow_engine.fleet.processes import check_identity
from winnow_engine.fleet.worker import AT_ONCE, encode
from winnow_engine.models.cache import given_file, locate

_RESTARTS = 5
_CONNECT_S = 10.0


class RayDrafter:
    """The drafter in an actor. `model` is a name of the registry, or a path that is valid on every machine."""

    def __init__(self, model: str, threads: int) -> None:
        self._drafter = Drafter(locate(model), threads=threads)

    def identity(self) -> str:
        """That of the drafter."""
        return self._drafter.identity

    def encode(self, texts: Texts) -> list[FileKeys]:
        """The keys of a chunk."""
        return encode(self._drafter, texts)


class RayWorker:
    """An actor, as `Worker` wants it."""

    def __init__(self, ray: Any, actor: Any, identity: str) -> None:
        self._ray, self._actor, self._identity = ray, actor, identity
        self._sent: deque[Any] = deque()

    def start(self) -> None:
        """See `Worker`."""
        check_identity(self._got(self._actor.identity.remote()), self._identity)

    def send(self, texts: Texts) -> None:
        """See `Worker`."""
        self._sent.append(self._actor.encode.remote(texts))

    def receive(self) -> list[FileKeys]:
        """See `Worker`."""
        keys: list[FileKeys] = self._got(self._sent.popleft())
        return keys

    def close(self) -> None:
        """See `Worker`."""
        self._ray.kill(self._actor)

    def _got(self, reference: Any) -> Any:
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except self._ray.exceptions.RayError as error:
            raise WorkerLostError(str(error).partition("\n")[0]) from error


class RayFleet(Fleet):
    """A fleet of actors. Closing it also leaves the cluster, and ends one that was started for it."""

    def __init__(self, model: str, drafter: Drafter, count: int | None, address: str | None) -> None:
        """`count` actors, or as many as the cluster has GPUs, at least one. Raises ClusterError."""
        # Linux ends a cluster that was started here when the thread ends that started it, so this is one that stays.
        self._keeper = ThreadPoolExecutor(1)
        self._ray = self._keeper.submit(_joined, address).result()
        gpus, cores = (int(self._ray.cluster_resources().get(name, 0)) for name in ("GPU", "CPU"))
        count = count or max(gpus, 1)
        threads = 2 if gpus else max(cores // count, 1)
        actors = self._ray.remote(RayDrafter).options(
            num_gpus=min(1, gpus / count) if gpus else 0,
            num_cpus=0 if gpus else threads,
            max_concurrency=AT_ONCE,
            max_restarts=_RESTARTS,
            max_task_retries=_RESTARTS,
        )
        # A path counts from here, and has to exist on the other machines as well.
        file = given_file(model)
        model = model if file is None else str(file.resolve())

        def open_worker(_number: int) -> RayWorker:
            return RayWorker(self._ray, actors.remote(model, threads), drafter.identity)

        super().__init__(count, open_worker, lambda texts: encode(drafter, texts), drafter.place)

    def close(self) -> None:
        """See `Fleet`."""
        super().close()
        self._ray.shutdown()
        self._keeper.shutdown()


def _joined(address: str | None) -> Any:
    """The `ray` module, connected to a cluster: the one at `address`, or a new one on this machine alone.

    Ray would report to its makers how it is used, unless it is told not to. What it starts listens on all of the
    machine's addresses, so a new cluster gets a secret that whoever connects has to know. That only works before Ray is
    imported; a program that has done so itself decides.
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
    """Raises ClusterError if nobody listens at HOST:PORT, which Ray itself would try for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_S).close()
    except OSError as error:
        raise ClusterError(f"the Ray cluster {address} cannot be reached: {error}; is it running?") from error
