"""Clients take turns: who waits is told so, and who leaves the queue lets the next one move up."""

import asyncio

import pytest
import pytest_asyncio
from lsprotocol import types

from .capabilities import EVERYTHING
from .conftest import SETTINGS

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]

QUESTION = "What does delivery cost?"
LONG = SETTINGS | {"maxTokens": 100}  # what waits is told ten times a second at most
REQUEST_CANCELLED = -32800


@pytest_asyncio.fixture(loop_scope="session")
async def crowd(connect):
    """Four clients of one pair of models, with their first questions asked in order: the first one is worked on."""
    clients = [await connect(options=LONG) for _ in range(4)]
    asked = []
    for client in clients:
        asked.append(client.start("winnow/ask", {"question": QUESTION, "workDoneToken": "w"}))
        await client.until(lambda client=client: client.values["w"], asked[-1][1])
    return clients, asked


async def test_a_question_that_waits_is_told_its_place(crowd) -> None:
    clients, asked = crowd
    await clients[1].until(lambda: clients[1].said("w", "waiting, 1 before this one"), asked[1][1])
    await clients[2].until(lambda: clients[2].said("w", "waiting, 2 before this one"), asked[2][1])
    for _, task in asked:
        assert (await task)["answer"]
    assert not clients[0].said("w", "waiting")
    assert clients[2].said("w", "waiting, 1 before this one")


async def test_the_next_ones_move_up_when_one_is_cancelled(crowd) -> None:
    clients, asked = crowd
    await clients[3].until(lambda: clients[3].said("w", "waiting, 3 before this one"), asked[3][1])
    clients[1].cancel(types.CANCEL_REQUEST, asked[1][0], "w")
    assert (await clients[1].refusal(asked[1][1])).code == REQUEST_CANCELLED
    clients[2].vanish()
    await clients[3].until(lambda: clients[3].said("w", "waiting, 1 before this one"), asked[3][1])
    for client, (_, task) in ((clients[0], asked[0]), (clients[3], asked[3])):
        assert (await task)["answer"], client
    asked[2][1].cancel()


async def test_everyone_sees_how_many_ask(connect) -> None:
    watching, *asking = [await connect(options=LONG) for _ in range(3)]
    await watching.settled()
    tasks = [client.start("winnow/ask", {"question": QUESTION})[1] for client in asking]
    await watching.until(lambda: watching.statuses[-1]["questions"] == {"running": 1, "waiting": 1})
    assert watching.statuses[-1]["state"] == "answering"
    await asyncio.gather(*tasks)
    await watching.until(lambda: watching.statuses[-1]["questions"] == {"running": 0, "waiting": 0})


async def test_indexing_gives_way_to_a_question_and_is_done_afterwards(connect, own_folder) -> None:
    (own_folder / "long.py").write_text("\n".join(f"def f{n}():\n    return {n}\n" for n in range(400)))
    client = await connect(own_folder, capabilities=EVERYTHING)
    await client.until(lambda: any(s["state"] == "indexing" for s in client.statuses))
    assert (await client.spans(QUESTION))["spans"]
    await client.settled()


async def test_superseding_leaves_the_questions_of_others_alone(connect) -> None:
    one, other = await connect(), await connect()
    spared = other.start("winnow/ask", {"question": QUESTION, "workDoneToken": "w"})[1]
    await other.until(lambda: other.values["w"], spared)
    assert (await one.ask(QUESTION, supersedes=True))["answer"]
    assert (await spared)["answer"]
