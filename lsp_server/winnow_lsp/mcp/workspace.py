"""The folders that a client asks about: the roots it names, or else the server's own folder."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterable
from pathlib import Path

from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError

from winnow_engine.config import FileRules
from winnow_engine.errors import PositionError, WorkspaceError
from winnow_engine.index.files import enters
from winnow_engine.index.workspace import Sources
from winnow_engine.untrusted import printable
from winnow_lsp.host.roots import file_path, is_everything, named_folders

_ROOTS_S = 5.0  # for the client to name its roots


class Workspaces:
    """The folders that one client may ask about. `within` bounds the roots of clients that are not to be trusted."""

    def __init__(self, default: Path, rules: FileRules, within: Path | None = None) -> None:
        self._default, self._rules, self._within = default, rules, within

    async def sources(self, session: ServerSession) -> Sources:
        """The folders of a call. Raises WorkspaceError if there is none."""
        capabilities = session.client_capabilities
        roots = await _roots(session) if capabilities is not None and capabilities.roots is not None else []
        allowed = [root for root in roots if self._allows(root)]
        if roots and not allowed:
            raise WorkspaceError(
                f"the client's roots lie outside of {self._within}, which this server is for, or are left out of it"
            )
        named = {root: root.name for root in allowed or [_sensible(self._default)]}
        return Sources(tuple(named_folders(named)), self._rules)

    def _allows(self, root: Path) -> bool:
        return self._within is None or root == self._within or enters(self._within, root, self._rules)


async def _roots(session: ServerSession) -> list[Path]:
    """The client's roots that are folders; none if it does not say. WorkspaceError if it names others only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated in the protocol, but what today's clients have
        asking = session.list_roots()
    try:
        listed = await asyncio.wait_for(asking, _ROOTS_S)
    except (MCPError, TimeoutError):
        return []
    named = [str(root.uri) for root in listed.roots]
    found = list(_folders(named))
    if named and not found:
        raise WorkspaceError(f"no root that the client names is a folder here: {', '.join(map(printable, named))}")
    return found


def _folders(uris: Iterable[str]) -> Iterable[Path]:
    for uri in uris:
        try:
            path = file_path(uri)
        except PositionError:
            continue
        if path.is_dir():
            yield path.resolve()


def _sensible(folder: Path) -> Path:
    """The folder, unless it is everything that the user has."""
    resolved = folder.resolve()
    if is_everything(resolved):
        raise WorkspaceError(
            f"{resolved} is no repository: start `winnow mcp` in one, or with --workspace FOLDER, "
            "or use a client that tells its roots"
        )
    return resolved
