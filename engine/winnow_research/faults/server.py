"""kill -9 of the server that a user's commands share, while it indexes, loads models or answers."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from functools import cache, cached_property

import psutil

from winnow_engine.encoder.drafter import Drafter
from winnow_research.faults.command import start
from winnow_research.faults.home import QUESTION, Home, indexed
from winnow_research.random_models import write_model

_PATIENCE_S = 120.0
_POLL_S = 0.01


def kill_server(home: Home) -> str:
    """kill -9 at any moment of a question: it is answered, or its error says what to do. So is the next one."""
    return _asking(home).kill_one()


class Asking:
    """Questions about a workspace, each of which starts the shared server."""

    def __init__(self, home: Home) -> None:
        self._home, self._model = home, write_model(home.place / "tiny.gguf")

    def kill_one(self) -> str:
        """Ask, and kill the server meanwhile; then ask again. What became of the first question."""
        command, server = self._ask()
        time.sleep(self._home.rng.random() * self._lasts_s)
        os.kill(server, signal.SIGKILL)
        _, said = command.communicate(timeout=_PATIENCE_S)
        assert "Traceback" not in said, said
        assert command.returncode == 0 or "ask again" in said, said
        self._answered(*self._ask())
        self._check()
        return "answered" if command.returncode == 0 else "told to ask again"

    @cached_property
    def _lasts_s(self) -> float:
        command, server = self._ask()
        started = time.monotonic()
        self._answered(command, server)
        return time.monotonic() - started

    def _ask(self) -> tuple[subprocess.Popen[str], int]:
        """The command, once it has started a server, and that server's process."""
        models = ["--drafter", str(self._model), "--target", str(self._model)]
        options = ["--first-look", "0", "--budget", "300", "--max-tokens", "30", "--json"]
        command = start(["ask", QUESTION, "-w", str(self._home.root), *models, *options], self._home, self._home.cache)
        latest = time.monotonic() + _PATIENCE_S
        while (server := _server(command.pid)) is None:
            assert command.poll() is None, command.communicate()[1]
            assert time.monotonic() < latest, "no server is started"
            time.sleep(_POLL_S)
        return command, server

    def _answered(self, command: subprocess.Popen[str], server: int) -> None:
        _, said = command.communicate(timeout=_PATIENCE_S)
        os.kill(server, signal.SIGKILL)
        assert command.returncode == 0, said

    def _check(self) -> None:
        """The index is the same as one made anew."""
        places = self._home.cache, self._home.new_folder()
        one, other = (indexed(self._home.root, place, self._drafter).digest for place in places)
        assert one == other, "the index differs from one made from nothing"

    @cached_property
    def _drafter(self) -> Drafter:
        return Drafter(self._model)


def _server(command: int) -> int | None:
    """The server that a command has started."""
    with suppress(psutil.Error):
        for child in psutil.Process(command).children():
            if "--shared" in child.cmdline():
                return int(child.pid)
    return None


@cache
def _asking(home: Home) -> Asking:
    return Asking(home)
