"""The folders that a client asks about: the roots it names, or else the server's own folder."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterable
from pathlib import Path

from mcp.server.session import ServerSession
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from winnow_engine.config import FileRules
from winnow_engine.errors import PositionError, WorkspaceError
from winnow_engine.index.files import enters
from winnow_engine.index.workspace import Sources
from winnow_engine.untrusted import printable
from winnow_lsp.host.roots import file_path, is_everything, named_folders

_ROOTS_S = 5.0  # for the client to name its roots; one that does not is not asked again
_MOST_SILENT = 100


class Workspaces:
    """The folders that one client may ask about. `within` bounds the roots of clients that are not to be trusted."""

    def __init__(self, default: Path, rules: FileRules, within: Path | None = None) -> None:
        self._default, self._rules, self._within = default, rules, within
        self._silent: list[object] = []  # parameters of clients that did not answer, each of one connection

    async def sources(self, session: ServerSession) -> Sources:
        """The folders of a call. Raises WorkspaceError if there is none."""
        roots = await self._roots(session)
        allowed = [root for root in roots if self._allows(root)]
        if roots and not allowed:
            raise WorkspaceError(
                f"the client's roots lie outside of {self._within}, which this server is for, or are left out of it"
            )
        named = {root: root.name for root in allowed or [_sensible(self._default)]}
        return Sources(tuple(named_folders(named)), self._rules)

    def changed(self, session: ServerSession) -> None:
        """Ask a client for its roots again that did not answer before."""
        self._silent = [one for one in self._silent if one is not session.client_params]

    async def _roots(self, session: ServerSession) -> list[Path]:
        """The client's roots that are folders; none if it does not say. WorkspaceError if it names others only."""
        capabilities, client = session.client_capabilities, session.client_params
        if capabilities is None or capabilities.roots is None or any(one is client for one in self._silent):
            return []
        try:
            return await _asked_roots(session)
        except TimeoutError:
            self._silent = [*self._silent[-_MOST_SILENT:], client]
            return []

    def _allows(self, root: Path) -> bool:
        return self._within is None or root == self._within or enters(self._within, root, self._rules)


async def _asked_roots(session: ServerSession) -> list[Path]:
    """As `_roots`. TimeoutError if the client does not answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated in the protocol, but what today's clients have
        asking = session.list_roots()
    try:
        listed = await asyncio.wait_for(asking, _ROOTS_S)
    except (MCPError, ValidationError):
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
