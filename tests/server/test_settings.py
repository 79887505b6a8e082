"""Settings from `initializationOptions` and `workspace/configuration`, and what is said of bad ones."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types

from winnow_engine.models import cache

from .capabilities import EDITORS, capabilities
from .conftest import SETTINGS

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]

PULLS = capabilities({"workspace": {"configuration": True}})


async def kept(client) -> int:
    """Tokens that a question keeps."""
    return (await client.spans("What does delivery cost?"))["stats"]["keptTokens"]


def push(client, settings: object) -> None:
    client.workspace_did_change_configuration(types.DidChangeConfigurationParams(settings))


async def told(client, words: str) -> str:
    """A message to the user that holds these words."""
    return await client.until(lambda: next((m.message for m in client.messages if words in m.message), None))


async def test_bad_settings_are_reported_with_the_default_that_is_used(connect) -> None:
    client = await connect(options=SETTINGS | {"codeLens": {"enabled": "yes"}, "bugdet": 5})
    said = "Winnow: winnow.codeLens.enabled must be true or false, not 'yes'; using False; "
    said += "winnow.bugdet is not a setting: did you mean budget?"
    assert await told(client, "codeLens") == said
    push(client, {"patience": 0})
    assert (await told(client, "patience")).startswith("Winnow: winnow.patience must be")
    assert await kept(client) <= 80
    assert [message.message for message in client.messages].count(said) == 1
    assert sum("bugdet" in message.message for message in client.messages) == 1


@pytest.mark.parametrize("editor", EDITORS)
async def test_each_editors_configuration_is_fetched_and_wins(connect, editor: str) -> None:
    def configured(client) -> None:
        client.set_configuration({"budget": 40}, section="winnow")

    client = await connect(capabilities=EDITORS[editor], prepare=configured)
    await client.settled()
    assert await kept(client) <= 40


async def test_a_change_of_the_configuration_takes_effect(connect) -> None:
    client = await connect(capabilities=PULLS)
    assert await kept(client) <= 80
    client.set_configuration({"budget": 10_000, "odd": 1}, section="winnow")
    push(client, None)
    await told(client, "winnow.odd")
    assert await kept(client) > 80


async def test_a_client_that_refuses_its_settings_is_told_and_served(connect) -> None:
    client = await connect(capabilities=PULLS, prepare=lambda client: client.refuse("configuration"))
    assert "no configuration here" in await told(client, "did not send its settings")
    await client.settled()
    assert await kept(client) <= 80


async def test_other_models_take_over_once_what_was_asked_is_answered(connect, tmp_path: Path) -> None:
    shutil.copy(cache.path(SETTINGS["target"]), tmp_path / "own.gguf")  # a file that no other client uses
    client = await connect(options=SETTINGS | {"target": str(tmp_path / "own.gguf")})
    tokens: list[dict[str, Any]] = [{"workDoneToken": "first"}, {"workDoneToken": "second"}]
    answers = [client.start("winnow/ask", {"question": "What does delivery cost?", **t})[1] for t in tokens]
    await client.until(lambda: client.said("first", "reading"))
    push(client, SETTINGS)
    assert [bool((await answer)["answer"]) for answer in answers] == [True, True]
    await client.until(lambda: client.statuses[-1]["models"]["target"]["name"] == SETTINGS["target"])
    assert (await client.ask("What does delivery cost?"))["answer"]
