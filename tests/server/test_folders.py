"""Workspaces of several folders that come and go; seen through `winnow/spans`."""

from pathlib import Path

import pytest

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]

EVERY_SPAN = {"budget": "100%"}
REQUEST_FAILED, INVALID_PARAMS = -32803, -32602


@pytest.fixture
def second(tmp_path: Path) -> Path:
    """Another folder, with the name that the first one has."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "stock.py").write_text("def in_stock():\n    return True\n")
    return folder


async def uris(client) -> set[str]:
    """Of everything that counts."""
    return {span["location"]["uri"] for span in (await client.spans("Anything?", **EVERY_SPAN))["spans"]}


def files(*folders: Path) -> set[str]:
    return {file.as_uri() for folder in folders for file in folder.rglob("*.py")}


async def test_a_folder_counts_from_when_it_is_added_until_it_is_removed(connect, folder: Path, second: Path) -> None:
    client = await connect(folder)
    assert await uris(client) == files(folder)
    client.folders([second])
    assert await uris(client) == files(folder, second)
    client.folders([], [second, folder])
    assert "no folder is open" in (await client.refusal(client.spans("Anything?"))).message
    client.folders([second])
    assert await uris(client) == files(second)
    client.folders([folder], [second])
    assert await uris(client) == files(folder)


async def test_documents_of_a_removed_folder_are_outside(connect, folder: Path, second: Path) -> None:
    client = await connect(folder, second)
    place = {"textDocument": {"uri": (second / "stock.py").as_uri()}, "position": {"line": 0, "character": 0}}
    assert (await client.spans("Explain this.", **place))["spans"]
    client.folders([], [second])
    assert (await client.refusal(client.spans("Explain this.", **place))).code == INVALID_PARAMS


async def test_a_folder_that_is_not_there_fails_by_name(connect, tmp_path: Path) -> None:
    client = await connect(tmp_path / "gone")
    error = await client.refusal(client.spans("Anything?"))
    assert (error.code, error.data) == (REQUEST_FAILED, {"kind": "WorkspaceError"})
    assert "gone" in error.message
