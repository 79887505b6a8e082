"""Chunks go to workers and come back in order, whatever becomes of the workers. Ray is replaced by futures here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import closing
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from winnow_engine.core import Cancellation
from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.file_encoder import FileKeys, FileText
from winnow_engine.errors import CancelledError, UnsupportedModelError
from winnow_engine.fleet import fleet
from winnow_engine.fleet.fleet import Fleet, Texts

FILES = [FileText(f"f{number}", ("x" * number,)) for number in range(1, 60)]
LENGTHS = list(range(1, 60))


class RayError(Exception):
    """Ray's own errors: an actor is lost."""


class RayTaskError(RayError):
    """What a call raised."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Actor:
    """An actor whose calls run on threads; `fate` is called before each chunk."""

    def __init__(self, identity: str, fate: Callable[[Texts], None]) -> None:
        self._pool = ThreadPoolExecutor(2)
        self.identity = SimpleNamespace(remote=lambda: self._pool.submit(lambda: identity))
        self.encode = SimpleNamespace(remote=lambda texts: self._pool.submit(self._encode, texts, fate))
        self.calls = 0

    def _encode(self, texts: Texts, fate: Callable[[Texts], None]) -> list[FileKeys]:
        self.calls += 1
        try:
            fate(texts)
        except RayError:
            raise
        except Exception as error:
            raise RayTaskError(error) from error
        return list(drafter().encode(texts))


class Ray:
    """As much of the module `ray` as a fleet uses."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, fate: Callable[[Texts], None], identity: str = "one", gpus: float = 0) -> None:
        self.gpus = gpus
        self.actors = list[Actor]()
        self._fate, self._identity = fate, identity
        self.options: dict[str, Any] = {}

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 4.0, "GPU": self.gpus} if self.gpus else {"CPU": 4.0}

    def remote(self, _: type) -> Any:
        def options(**options: Any) -> Any:
            self.options = options
            return SimpleNamespace(remote=self._actor)

        return SimpleNamespace(options=options)

    def _actor(self, *_: object) -> Actor:
        self.actors.append(Actor(self._identity, self._fate))
        return self.actors[-1]

    @staticmethod
    def wait(futures: Sequence[Future[Any]], num_returns: int = 1, timeout: float = 0) -> tuple[list[Any], list[Any]]:
        done, others = wait_for(futures, timeout)
        return list(done), list(others)

    @staticmethod
    def get(future: Future[Any]) -> Any:
        return future.result()

    def kill(self, actor: Actor) -> None:
        pass

    def shutdown(self) -> None:
        pass


def drafter() -> Drafter:
    """Makes one key a file: its length."""

    def encode(texts: Texts, *_: object, **__: object) -> Iterator[FileKeys]:
        yield from (FileKeys(np.array([len(unit) for unit in file.units], np.int32), {}) for file in texts)

    return cast(Drafter, SimpleNamespace(place="cpu", identity="one", encode=encode))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Fleet, Ray]]:
    """Opens a fleet whose actors meet a fate before each chunk."""
    monkeypatch.setitem(fleet.CHUNK_CHARACTERS, "cpu", 100)

    def open_fleet(
        count: int = 2, fate: Callable[[Texts], None] = lambda _: None, identity: str = "one"
    ) -> tuple[Fleet, Ray]:
        ray = Ray(fate, identity)
        monkeypatch.setattr(fleet, "joined", lambda _: ray)
        return Fleet("model", drafter(), count, None), ray

    return open_fleet


def encoded(made: Fleet, cancellation: Cancellation | None = None) -> list[int]:
    found = made.encode(iter(FILES), cancellation or Cancellation())
    return [int(keys.unit_tokens[0]) for keys in found]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_files_come_back_in_order_from_all_workers(opened: Callable[..., tuple[Fleet, Ray]], count: int) -> None:
    made, ray = opened(count)
    with closing(made):
        assert encoded(made) == LENGTHS
        assert encoded(made) == LENGTHS
        assert not made.notices
        assert len(ray.actors) == min(count, 4)  # as there are cores
        assert ray.options["num_cpus"] == max(4 // count, 1)
        assert all(actor.calls for actor in ray.actors)


def test_what_a_lost_worker_had_is_encoded_here(opened: Callable[..., tuple[Fleet, Ray]]) -> None:
    def dies(texts: Texts) -> None:
        if any(file.path == "f30" for file in texts):
            raise RayError("crashed\nat length")

    made, _ = opened(2, dies)
    with closing(made):
        assert encoded(made) == LENGTHS
        (notice,) = made.notices
        assert "was lost: crashed; its work is done here" in notice


def test_what_encoding_raises_is_raised(opened: Callable[..., tuple[Fleet, Ray]]) -> None:
    def fails(_: Texts) -> None:
        raise ZeroDivisionError("a bug")

    made, _ = opened(2, fails)
    with closing(made), pytest.raises(ZeroDivisionError, match="a bug"):
        encoded(made)


def test_cancelling_does_not_wait_for_workers(opened: Callable[..., tuple[Fleet, Ray]]) -> None:
    begun, answer, cancellation = threading.Event(), threading.Event(), Cancellation()

    def waits(_: Texts) -> None:
        begun.set()
        answer.wait(60)

    made, _ = opened(2, waits)
    with closing(made), ThreadPoolExecutor(1) as other:
        ended = other.submit(encoded, made, cancellation)
        assert begun.wait(60)
        cancellation.cancel()
        with pytest.raises(CancelledError):
            ended.result(60)
        answer.set()
        assert encoded(made) == LENGTHS


def test_files_are_not_read_far_ahead(opened: Callable[..., tuple[Fleet, Ray]]) -> None:
    read = 0

    def endless() -> Iterator[FileText]:
        nonlocal read
        while True:
            read += 1
            yield FileText("f", ("x" * 100,))

    made, _ = opened(2)
    with closing(made):
        next(made.encode(endless(), Cancellation()))
        assert read < 20


def test_another_drafter_is_refused(opened: Callable[..., tuple[Fleet, Ray]]) -> None:
    made, _ = opened(identity="other")
    with closing(made), pytest.raises(UnsupportedModelError, match="another drafter"):
        encoded(made)
