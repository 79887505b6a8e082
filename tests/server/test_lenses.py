"""`textDocument/codeLens`: none, unless the setting asks for them."""

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from .conftest import SETTINGS

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]


async def lenses(client, uri: str) -> Any:
    return await client.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))


@pytest.fixture
def file(folder: Path) -> Path:
    return folder / "shop" / "checkout.py"


@pytest.fixture
def with_lenses(connect):
    """Makes clients with code lenses."""

    async def made(*folders: Path):
        return await connect(*folders, options=SETTINGS | {"codeLens": {"enabled": True}})

    return made


async def test_there_are_none_by_default(client, file: Path) -> None:
    assert await lenses(client, file.as_uri()) == ()


async def test_every_function_has_two_that_run_the_explain_command(with_lenses, file: Path) -> None:
    client = await with_lenses()
    line = next(n for n, text in enumerate(file.read_text().splitlines()) if "def pay" in text)
    found = await lenses(client, file.as_uri())
    assert [(lens.range.start.line, lens.command.title) for lens in found] == [(line, "Explain"), (line, "Uses")]
    assert {lens.command.command for lens in found} == {"winnow.explain"}
    (argument,) = found[1].command.arguments
    assert (argument["textDocument"], argument["about"]) == ({"uri": file.as_uri()}, "usage")


async def test_the_setting_takes_effect_when_it_changes(connect, file: Path) -> None:
    client = await connect()
    assert await lenses(client, file.as_uri()) == ()
    settings = {"winnow": SETTINGS | {"codeLens": {"enabled": True}}}
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))
    assert len(await lenses(client, file.as_uri())) == 2


async def test_files_that_cannot_be_read_have_none(with_lenses, own_folder: Path) -> None:
    client = await with_lenses(own_folder)
    (own_folder / "binary.py").write_bytes(b"\0\1\2")
    (own_folder / "link.py").symlink_to("/etc/passwd")
    for name in ("gone.py", "binary.py", "link.py", "shop"):
        assert await lenses(client, (own_folder / name).as_uri()) == ()
