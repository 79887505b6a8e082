"""Features of the server, one a file. Each file's `register` adds handlers to one client's server."""

from __future__ import annotations

from winnow_lsp.server.features import actions, asking, commands, editing, hosting, lifecycle, reviewing
from winnow_lsp.server.server import WinnowServer


def register_all(server: WinnowServer) -> None:
    """Add every handler."""
    for feature in (lifecycle, asking, editing, actions, commands, hosting, reviewing):
        feature.register(server)
