"""Reaches the user's shared server, and starts it where there is none."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

from winnow_engine.core import Cancellation
from winnow_lsp.host.socket_path import Peer, ServerFiles

_POLL_S = 0.02
_START_S = 60.0  # importing everything from a slow disk
_SERVE = ("-P", "-m", "winnow_lsp", "serve", "--shared")  # -P: nothing is imported from the current directory


class NoServerError(Exception):
    """The shared server could not be reached or started, for the reason given."""


def running(place: Path) -> socket.socket | None:
    """A connection to the server that listens at a socket, None if none does.

    Raises NoServerError if it is not the user's own.
    """
    connected = socket.socket(socket.AF_UNIX)
    try:
        connected.connect(str(place))
    except OSError:
        connected.close()
        return None
    if not Peer.of(connected).is_us:
        connected.close()
        raise NoServerError(f"{place} belongs to another user")
    return connected


def started(place: ServerFiles, at: Path, cancellation: Cancellation) -> socket.socket:
    """A connection to one of the sockets of a server that is started now. Raises NoServerError, CancelledError.

    The server outlives this command and its terminal, and keeps no folder busy.
    """
    try:
        place.log.parent.mkdir(parents=True, exist_ok=True)
        with place.log.open("wb") as log:
            streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": log}
            server = subprocess.Popen([sys.executable, *_SERVE], cwd="/", start_new_session=True, **streams)  # type: ignore[call-overload]
    except OSError as error:
        raise NoServerError(str(error)) from error
    return _connected(place, at, server, cancellation)


def _connected(
    place: ServerFiles, at: Path, server: subprocess.Popen[bytes], cancellation: Cancellation
) -> socket.socket:
    """The first connection that succeeds. Where several servers are started at once, all but one end at once."""
    latest = time.monotonic() + _START_S
    while time.monotonic() < latest:
        cancellation.check()
        if connected := running(at):
            server.returncode = server.returncode or 0  # it stays: nothing to warn about when this object goes
            return connected
        if server.poll():
            raise NoServerError(f"it ended with exit code {server.returncode}: {place.log} says why")
        time.sleep(_POLL_S)
    server.terminate()
    raise NoServerError(f"it did not start within {_START_S:.0f} s: {place.log} may say why")
