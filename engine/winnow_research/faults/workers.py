"""kill -9 of workers that encode for `winnow index`: its own processes, or actors of a Ray cluster that it starts.

Keys are those of a real drafter, so they are compared with those of a run in which nobody was killed.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache, cached_property
from pathlib import Path

import psutil

from winnow_engine.encoder.drafter import Drafter
from winnow_engine.encoder.file_encoder import FileKeys, FileText
from winnow_research.faults.command import start
from winnow_research.faults.home import Home, indexed
from winnow_research.random_models import write_model

_PATIENCE_S = 120.0
_POLL_S = 0.01


def kill_worker(home: Home) -> str:
    """kill -9 of one of two processes that encode, twice."""
    return _fleets(home, "winnow_engine.fleet.worker").kill_two()


def kill_ray_worker(home: Home) -> str:
    """kill -9 of one of two actors that encode in a Ray cluster, twice."""
    return _fleets(home, "ray::RayDrafter", "--ray").kill_two()


class Fleets:
    """A workspace that commands index with two workers each. A run without faults says what to expect."""

    def __init__(self, home: Home, worker: str, options: Sequence[str]) -> None:
        """`worker` is part of the command line of a worker."""
        self._home, self._options, self._worker = home, options, worker
        self.model = write_model(home.place / "tiny.gguf")

    def kill_two(self) -> str:
        """Kill a worker at any moment, and again. "noticed" if the command says so: Ray starts actors again itself."""
        expected, lasts_s = self._undisturbed
        while True:
            cache = self._home.new_folder()
            command = self._start(cache)
            killed = self._kill_two(command, lasts_s)
            said = self._ended(command)
            assert self._digest(cache) == expected, "workers were killed, and keys are others"
            if killed == 2:
                return "noticed" if "was lost" in said else "not noticed"

    def _kill_two(self, command: subprocess.Popen[str], lasts_s: float) -> int:
        """Kill a worker at two moments; how many there were to kill."""
        moments = sorted(self._home.rng.random() * lasts_s for _ in range(2))
        self._wait_for_workers(command)
        started, killed = time.monotonic(), 0
        for moment in moments:
            time.sleep(max(started + moment - time.monotonic(), 0.0))
            if there := self._workers(command):
                with suppress(psutil.NoSuchProcess):
                    self._home.rng.choice(there).kill()
                    killed += 1
        return killed

    @cached_property
    def _undisturbed(self) -> tuple[str, float]:
        """What an index has that was made without a fault, and for how many seconds there were two workers."""
        cache = self._home.new_folder()
        command = self._start(cache)
        self._wait_for_workers(command)
        started = time.monotonic()
        while len(self._workers(command)) == 2:
            time.sleep(_POLL_S)
        lasted_s = time.monotonic() - started
        self._ended(command)
        return self._digest(cache), lasted_s

    def _ended(self, command: subprocess.Popen[str]) -> str:
        """What a command said, which must have ended well."""
        _, said = command.communicate(timeout=_PATIENCE_S)
        assert command.returncode == 0, said
        assert "Traceback" not in said, said
        return said

    def _start(self, cache: Path) -> subprocess.Popen[str]:
        options = ["--drafter", str(self.model), "--workers", "2", *self._options]
        return start(["index", "-w", str(self._home.root), *options, "--json"], self._home, cache)

    def _wait_for_workers(self, command: subprocess.Popen[str]) -> None:
        latest = time.monotonic() + _PATIENCE_S
        while len(self._workers(command)) < 2:
            assert command.poll() is None, command.communicate()[1]
            assert time.monotonic() < latest, "there are no workers"
            time.sleep(_POLL_S)

    def _workers(self, command: subprocess.Popen[str]) -> list[psutil.Process]:
        found = []
        with suppress(psutil.NoSuchProcess):
            for one in psutil.Process(command.pid).children(recursive=True):
                with suppress(psutil.Error):
                    if self._worker in " ".join(one.cmdline()):
                        found.append(one)
        return found

    def _digest(self, cache: Path) -> str:
        """What the index has. It encodes nothing: what is missing is an error."""
        return indexed(self._home.root, cache, self._drafter, encoder=_Nobody()).digest

    @cached_property
    def _drafter(self) -> Drafter:
        return Drafter(self.model)


class _Nobody:
    """Encodes nothing."""

    def encode(self, files: Iterable[FileText], *_: object) -> Iterator[FileKeys]:
        """Fails if there is anything to do."""
        for file in files:
            raise AssertionError(f"{file.path} has no keys in the index")
        yield from ()


@cache
def _fleets(home: Home, worker: str, *options: str) -> Fleets:
    return Fleets(home, worker, options)
