"""The socket and the web server of what Winnow serves over HTTP."""

from __future__ import annotations

import socket

import uvicorn
from starlette.requests import Request
from starlette.types import ASGIApp

_LEAVE_S = 5  # for answers in progress when the server is told to stop


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens at an address. Raises OSError if it is not available."""
    return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)


def web_server(application: ASGIApp) -> uvicorn.Server:
    """A server of HTTP/1.1 that logs nothing and does not say what it is."""
    config = uvicorn.Config(
        application,
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_LEAVE_S,
    )
    return uvicorn.Server(config)


async def gone(request: Request) -> None:
    """Return when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
