"""Which folders a call is about."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from winnow_engine.config import FileRules
from winnow_engine.core import Folder
from winnow_engine.errors import WorkspaceError
from winnow_lsp.mcp.workspace import Workspaces


class Session:
    """A client with roots, without the capability (None), or one that refuses to tell them."""

    def __init__(self, roots: list[str] | None, refuses: Exception | None = None) -> None:
        self._roots, self.refuses, self.asked = roots or [], refuses, 0
        self.client_params = object()
        self.client_capabilities = SimpleNamespace(roots=None if roots is None else object())

    async def list_roots(self) -> types.ListRootsResult:
        self.asked += 1
        if self.refuses:
            raise self.refuses
        return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in self._roots])  # type: ignore[arg-type]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path, Path]:
    found = tmp_path / "a", tmp_path / "b" / "a", tmp_path / "default"
    for folder in found:
        folder.mkdir(parents=True)
    return found


async def roots(default: Path, session: Any, within: Path | None = None) -> tuple[Folder, ...]:
    return (await Workspaces(default, FileRules(), within).sources(session)).folders


async def test_the_clients_roots_or_else_the_default(folders: tuple[Path, Path, Path]) -> None:
    one, other, default = folders
    assert await roots(default, Session(None)) == (Folder(default),)
    assert await roots(default, Session([])) == (Folder(default),)
    assert await roots(default, Session([one.as_uri()], refuses=MCPError(-32601, "no"))) == (Folder(default),)
    assert await roots(default, Session(["http://host/a", one.as_uri()])) == (Folder(default),)
    assert await roots(default, Session([one.as_uri()])) == (Folder(one),)
    both = [one.as_uri(), one.as_uri(), other.as_uri(), "file:///nowhere/at/all", (one / "file.py").as_uri()]
    session: Any = Session(both)
    assert await roots(default, session) == (Folder(one, "a"), Folder(other, "a'"))
    notices = list[str]()
    await Workspaces(default, FileRules(), other.parent).sources(session, notices)
    assert notices == [f"roots left out, as missing here or out of bounds: {', '.join([both[0], *both[3:]])}"]


async def test_a_client_that_does_not_answer_is_asked_again_when_its_roots_change(
    folders: tuple[Path, Path, Path],
) -> None:
    one, _, default = folders
    workspaces, silent = Workspaces(default, FileRules()), Session([one.as_uri()], TimeoutError())
    session: Any = silent
    for _ in range(3):
        assert (await workspaces.sources(session)).folders == (Folder(default),)
    assert silent.asked == 1
    silent.refuses = None
    workspaces.changed(session)
    assert (await workspaces.sources(session)).folders == (Folder(one),)


async def test_roots_of_which_none_is_a_folder_are_named(folders: tuple[Path, Path, Path], tmp_path: Path) -> None:
    gone, no_path = (tmp_path / "gone").as_uri(), "file:///a%00"
    with pytest.raises(WorkspaceError, match=f"no root that the client names is a folder here: {gone}, {no_path}"):
        await roots(folders[0], Session([gone, no_path]))


async def test_roots_outside_of_the_bounds_are_refused(folders: tuple[Path, Path, Path]) -> None:
    one, other, default = folders
    assert await roots(default, Session([one.as_uri(), other.as_uri()]), other.parent) == (Folder(other),)
    with pytest.raises(WorkspaceError, match="outside"):
        await roots(default, Session([one.as_uri()]), default)


async def test_roots_that_are_left_out_of_the_bounds_are_refused(tmp_path: Path) -> None:
    bounds = tmp_path / "shop"
    for name in (".git", "secrets", "tax/rates"):
        (bounds / name).mkdir(parents=True)
    (bounds / ".winnowignore").write_text("secrets/\n")
    assert await roots(bounds, Session([bounds.as_uri()]), bounds) == (Folder(bounds),)
    assert await roots(bounds, Session([(bounds / "tax/rates").as_uri()]), bounds) == (Folder(bounds / "tax/rates"),)
    for name in (".git", "secrets"):
        with pytest.raises(WorkspaceError, match="left out"):
            await roots(bounds, Session([(bounds / name).as_uri()]), bounds)


async def test_all_that_the_user_has_is_no_workspace(tmp_path: Path) -> None:
    for folder in (Path.home(), Path("/")):
        for default, session in ((folder, Session(None)), (tmp_path, Session([folder.as_uri()]))):
            with pytest.raises(WorkspaceError, match="--workspace"):
                await roots(default, session)
