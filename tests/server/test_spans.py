"""`winnow/spans`, over both transports: what would be kept, without asking the target."""

import uuid
from pathlib import Path

import pytest
from lsprotocol import types

from .conftest import SETTINGS

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]

QUESTION = "What does delivery cost?"
REQUEST_CANCELLED = -32800
CANCELS = [types.CANCEL_REQUEST, types.WINDOW_WORK_DONE_PROGRESS_CANCEL]
START = {"line": 0, "character": 0}


async def test_the_best_spans_come_with_their_features_in_file_and_line_order(client, folder: Path) -> None:
    result = await client.spans("What is the fee for delivery when something is heavy?")
    assert set(result) == {"question", "spans", "stats", "notices"}
    spans = result["spans"]
    assert "delivery" in [span["name"] for span in spans]
    assert all(span["location"]["uri"].startswith(folder.as_uri()) for span in spans)
    unsaid = [span["score"] - sum(span["features"].values()) for span in spans]  # one constant, but for what is rounded
    assert unsaid == pytest.approx([sum(unsaid) / len(unsaid)] * len(spans), abs=0.25)
    places = [(span["location"]["uri"], span["location"]["range"]["start"]["line"]) for span in spans]
    assert places == sorted(places)


async def test_the_target_is_not_asked(client) -> None:
    stats = (await client.spans(QUESTION))["stats"]
    assert (stats["promptTokens"], stats["decodeTokens"]) == (0, 0)
    assert "ttft" not in stats
    assert set(stats["stages"]) == {"read", "load_drafter", "index", "score", "select"}


async def test_no_target_is_needed(connect) -> None:
    client = await connect(options=SETTINGS | {"target": "/no/such/model.gguf"})
    await client.until(lambda: any(s["models"]["target"]["state"] == "failed" for s in client.statuses))
    assert (await client.spans(QUESTION))["spans"]


@pytest.mark.parametrize("budget", [40, "20%", "100%", 10**12])
async def test_the_budget_of_the_request_holds(client, budget: int | str) -> None:
    result = await client.spans(QUESTION, budget=budget)
    kept, whole = result["stats"]["keptTokens"], result["stats"]["workspaceTokens"]
    allowed = budget if isinstance(budget, int) else round(whole * int(budget[:-1]) / 100)
    assert 0 < kept <= allowed
    assert (kept == whole) == (allowed >= whole)


async def test_a_request_may_leave_the_budget_to_the_scores(client) -> None:
    stats = (await client.spans(QUESTION, budget="auto"))["stats"]
    # As many as a slow target gets at least.
    assert stats["budgetTokens"] >= 800 > (await client.spans(QUESTION))["stats"]["budgetTokens"]


async def test_a_cursor_that_the_question_does_not_mean_changes_no_score(client, folder: Path) -> None:
    place = {"textDocument": {"uri": (folder / "shop/checkout.py").as_uri()}, "position": START}
    there, nowhere = [await client.spans(QUESTION, budget="100%", **at) for at in (place, {})]
    assert there["spans"] == nowhere["spans"] != []
    pointing = await client.spans("What does this do?", budget="100%", **place)
    assert pointing["spans"] != (await client.spans("What does this do?", budget="100%"))["spans"]


@pytest.mark.parametrize("how", CANCELS)
async def test_cancelling_stops_the_work_and_says_so(client, folder: Path, how: str) -> None:
    lines = [f"def of_{uuid.uuid4().hex}():\n    return {number}\n" for number in range(300)]
    uri, token = client.open(folder / "a.py", "\n".join(lines)), str(uuid.uuid4())
    identity, answer = client.start("winnow/spans", {"question": QUESTION, "workDoneToken": token})
    await client.until(lambda: client.said(token, "searching") or client.said(token, "loading"))
    client.cancel(how, identity, token)
    assert (await client.refusal(answer)).code == REQUEST_CANCELLED
    assert client.values[token][-1]["kind"] == "end"
    client.shut(uri)
    await client.until(lambda: client.statuses[-1]["questions"] == {"running": 0, "waiting": 0})
