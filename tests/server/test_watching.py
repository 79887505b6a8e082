"""Files that change outside of the editor: noticed by the system's watcher or the client's, never by both."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from .capabilities import EVERYTHING, PLAIN
from .client import PATIENCE_S

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]

NEW = "def surcharge():\n    return 1\n"


def watchers(client) -> list[types.Registration]:
    return [r for r in client.registered if r.method == types.WORKSPACE_DID_CHANGE_WATCHED_FILES]


def stale(client) -> Any:
    """A status that says that a file has changed, if there was one."""
    return next((s for s in client.statuses if s["index"]["staleFiles"]), None)


async def notices(client, *files: Path) -> dict[str, Any]:
    """Write files, again until the server, which may not watch yet, notices; the status that says so."""
    async with asyncio.timeout(PATIENCE_S):
        while not stale(client):
            for file in files:
                file.write_text(NEW)
            await asyncio.sleep(0.1)
    return stale(client)


async def followed(client) -> dict[str, Any]:
    """Wait until the index has followed the changes."""
    return await client.until(
        lambda: next((s for s in client.statuses[-1:] if s["state"] == "ready" and not s["index"]["staleFiles"]), None)
    )


async def test_the_system_watches_where_the_client_does_not(connect, own_folder: Path) -> None:
    client = await connect(own_folder, capabilities=PLAIN)
    await client.settled()
    assert (await notices(client, own_folder / "shop" / "surcharge.py"))["index"]["staleFiles"] == 1
    await followed(client)
    assert watchers(client) == []


async def test_the_clients_watcher_is_used_where_it_offers_one(connect, own_folder: Path) -> None:
    client = await connect(own_folder, capabilities=EVERYTHING)
    (watcher,) = await client.until(lambda: watchers(client))
    assert watcher.register_options["watchers"] == [{"globPattern": "**/*"}]
    (own_folder / ".gitignore").write_text("*.log\n")
    await client.settled()
    for name in ("unseen.py", "app.log", "seen.py"):  # of one the client does not tell
        (own_folder / name).write_text(NEW)
    for name in ("app.log", "seen.py"):
        change = types.FileEvent((own_folder / name).as_uri(), types.FileChangeType.Created)
        client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
    await client.until(lambda: stale(client))
    await followed(client)
    assert max(status["index"]["staleFiles"] for status in client.statuses) == 1


async def test_a_client_that_refuses_to_watch_is_served_all_the_same(connect, own_folder: Path) -> None:
    client = await connect(own_folder, capabilities=EVERYTHING, prepare=lambda client: client.refuse("registration"))
    await client.settled()
    (own_folder / "shop" / "surcharge.py").write_text(NEW)
    assert "surcharge" in [s["name"] for s in (await client.spans("Anything?", budget="100%"))["spans"]]


async def test_folders_added_later_are_watched_too(connect, folder: Path, own_folder: Path) -> None:
    client = await connect(folder, capabilities=PLAIN)
    client.folders([own_folder])
    await client.spans("Anything?")
    await client.settled()
    await notices(client, own_folder / "shop" / "surcharge.py")


async def test_edits_in_the_editor_make_the_index_stale_until_it_has_followed(connect, own_folder: Path) -> None:
    (own_folder / ".gitignore").write_text("*.log\n")
    client = await connect(own_folder, capabilities=EVERYTHING)
    await client.settled()
    for file in (own_folder / "app.log", own_folder / "shop" / "pricing.py"):
        client.replace(client.open(file, file.read_text() if file.exists() else ""), NEW)
    status = await client.until(lambda: stale(client))
    assert (status["state"], status["message"]) == ("stale", "1 file changed")
    await followed(client)
    assert max(status["index"]["staleFiles"] for status in client.statuses) == 1


async def test_what_does_not_count_is_not_noticed(connect, own_folder: Path) -> None:
    (own_folder / ".git").mkdir()
    client = await connect(own_folder, capabilities=PLAIN)
    await client.settled()
    await notices(client, *(own_folder / name for name in (".git/index", "picture.png", "shop/surcharge.py")))
    await followed(client)
    assert max(status["index"]["staleFiles"] for status in client.statuses) == 1
