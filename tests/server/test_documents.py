"""Open documents count as they are in the editor, in each position encoding; seen through `winnow/spans`."""

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from .capabilities import PLAIN, capabilities

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]

EVERY_SPAN = {"budget": "100%"}
UNITS = {"utf-8": 11, "utf-16": 8, "utf-32": 7}  # of `def é𝒳_`, which is 7 characters


async def names(client) -> set[str]:
    """Of everything the workspace holds."""
    return {span["name"] for span in (await client.spans("Anything?", **EVERY_SPAN))["spans"]}


def replaced(line: int, first: int, last: int, text: str) -> dict[str, Any]:
    start, end = ({"line": line, "character": character} for character in (first, last))
    return {"range": {"start": start, "end": end}, "text": text}


@pytest.mark.parametrize(
    ("offered", "agreed"),
    [
        (None, "utf-16"),
        ([], "utf-16"),
        (["utf-8"], "utf-8"),
        (["utf-16"], "utf-16"),
        (["utf-32", "utf-8", "utf-16"], "utf-32"),
        (["utf-7"], "utf-16"),
        (["utf-7", "utf-8"], "utf-8"),
    ],
    ids=str,
)
async def test_edits_count_positions_as_agreed(connect, folder: Path, offered, agreed: str) -> None:
    general = {"general": {"positionEncodings": offered}} if offered is not None else {}
    client = await connect(capabilities=capabilities(general))
    assert client.started.capabilities.position_encoding == agreed
    await edit_behind_wide_characters(client, folder, UNITS[agreed])


async def edit_behind_wide_characters(client, folder: Path, units: int) -> None:
    """Rename a function by two edits in one notification, the second by positions after the first."""
    uri = client.open(folder / "wide.py", "# 𝒳\r\ndef é𝒳_old():\r\n    pass\r\n")
    client.edit(uri, replaced(1, units, units + 3, "renamed"), replaced(1, units + 2, units + 7, "plica"))
    assert "é𝒳_replica" in await names(client)


async def test_unsaved_edits_count_until_the_document_is_closed(client, folder: Path) -> None:
    file = folder / "shop" / "pricing.py"
    uri = client.open(file, file.read_text())
    client.replace(uri, "def only_in_the_editor():\n    pass\n")
    seen = await names(client)
    assert "only_in_the_editor" in seen
    assert "unit_price" not in seen
    client.shut(uri)
    assert "unit_price" in await names(client)


async def test_a_question_at_lines_that_are_not_saved_is_answered(client, folder: Path) -> None:
    file = folder / "shop" / "pricing.py"
    uri = client.open(file, file.read_text() + "\n\ndef refund():\n    return 0\n" * 20)
    last = len(file.read_text().splitlines()) + 3
    place = {"textDocument": {"uri": uri}, "position": {"line": last, "character": 0}}
    result = await client.spans("Explain this.", **place)
    client.shut(uri)
    assert "refund" in [span["name"] for span in result["spans"]]


async def test_line_ends_of_all_kinds_are_counted_as_editors_do(connect, folder: Path) -> None:
    client = await connect()
    uri = client.open(folder / "ends.py", "x = 1\ry = 2\r\nz = 3\x0c\x0b\x85\u2028\ndef old():\n    pass\n")
    client.edit(uri, replaced(3, 4, 7, "new"))
    assert "new" in await names(client)


async def test_documents_outside_the_workspace_do_not_count(connect, tmp_path: Path) -> None:
    client = await connect()
    before = await names(client)
    client.open(tmp_path / "secret.py", "def secret():\n    pass\n")
    for uri in ("untitled:Untitled-1", "file://[half", "https://example.com/a.py", "nonsense"):
        client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, "def secret():\n    pass\n"))
        )
    assert await names(client) == before


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("textDocument/didOpen", None),
        ("textDocument/didOpen", {"textDocument": {"uri": "x"}}),
        ("textDocument/didOpen", {"textDocument": {"uri": 5, "languageId": "", "version": "", "text": ""}}),
        ("textDocument/didChange", {"textDocument": {"uri": "x", "version": 1}}),
        ("textDocument/didChange", {"textDocument": {"uri": "x", "version": 1}, "contentChanges": [5]}),
        ("textDocument/didClose", {}),
        ("workspace/didChangeWatchedFiles", {"changes": [{"uri": 5, "type": 9}]}),
        ("workspace/didChangeWorkspaceFolders", {"event": {"added": [{"uri": "http://x", "name": ""}], "removed": []}}),
        ("workspace/didChangeWorkspaceFolders", {"event": 5}),
        ("workspace/didChangeConfiguration", None),
        ("window/workDoneProgress/cancel", {"token": "nobody"}),
        ("window/workDoneProgress/cancel", {}),
        ("$/cancelRequest", {"id": "nobody"}),
        ("$/cancelRequest", {}),
        ("$/setTrace", {"value": "loud"}),
        ("no/such", {}),
    ],
    ids=str,
)
async def test_malformed_notifications_change_nothing(connect, method: str, params: Any) -> None:
    client = await connect(capabilities=PLAIN)
    client.protocol.notify(method, params)
    assert "unit_price" in await names(client)
