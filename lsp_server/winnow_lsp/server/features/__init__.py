"""What the server offers, a feature a file. Each has `register`, which adds its handlers to one client's server."""

from __future__ import annotations

from winnow_lsp.server.features import actions, asking, commands, lenses, lifecycle
from winnow_lsp.server.server import WinnowServer


def register_all(server: WinnowServer) -> None:
    """Add every handler."""
    for feature in (lifecycle, asking, actions, lenses, commands):
        feature.register(server)
