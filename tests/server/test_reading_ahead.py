"""`winnow/readAhead`: the question that follows finds the code at its cursor read."""

import asyncio

import pytest

from .client import Client
from .conftest import SETTINGS
from .test_asking import QUESTION, slow_to_read

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]


async def idle(client: Client) -> None:
    """Returns once the models have nothing to do. What was sent before this is known to them by then."""
    while True:
        await asyncio.sleep(0.2)
        server = await client.start("winnow/server", None)[1]
        if not any(models["busy"] for models in server["models"]):
            return


@pytest.mark.parametrize("ahead", [True, False])
async def test_a_question_finds_the_code_at_its_cursor_read(ahead: bool, connect, own_folder) -> None:
    client = await connect(own_folder, options=SETTINGS | {"readAhead": ahead})
    await client.settled()
    question = slow_to_read(client, own_folder)
    client.protocol.notify("winnow/readAhead", {key: question[key] for key in ("textDocument", "range")})
    await idle(client)
    answer = await client.ask(**question)
    uri = question["textDocument"]["uri"]
    code = next(span for span in answer["spans"] if span["location"]["uri"] == uri)
    assert answer["question"] == QUESTION
    assert (answer["stats"]["reusedTokens"] > code["tokens"]) == ahead
    client.shut(uri)
