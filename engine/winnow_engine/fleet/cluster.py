"""A Ray cluster: one that is there, or a new one on this machine."""

from __future__ import annotations

import importlib
import os
import secrets
import socket
import sys
from typing import Any

from winnow_engine.errors import ClusterError

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
