"""`winnow/spans`: what would be kept, without asking the target."""

from pathlib import Path

import pytest

pytestmark = [pytest.mark.real_weights, pytest.mark.asyncio(loop_scope="session")]

QUESTION = "What does delivery cost?"
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


@pytest.mark.parametrize("budget", [40, "20%", "100%", 10**12])
async def test_the_budget_of_the_request_holds(client, budget: int | str) -> None:
    result = await client.spans(QUESTION, budget=budget)
    kept, whole = result["stats"]["keptTokens"], result["stats"]["workspaceTokens"]
    allowed = budget if isinstance(budget, int) else round(whole * int(budget[:-1]) / 100)
    assert 0 < kept <= allowed
    assert (kept == whole) == (allowed >= whole)


async def test_a_cursor_that_the_question_does_not_mean_changes_no_score(client, folder: Path) -> None:
    place = {"textDocument": {"uri": (folder / "shop/checkout.py").as_uri()}, "position": START}
    there, nowhere = [await client.spans(QUESTION, budget="100%", **at) for at in (place, {})]
    assert there["spans"] == nowhere["spans"] != []
    pointing = await client.spans("What does this do?", budget="100%", **place)
    assert pointing["spans"] != (await client.spans("What does this do?", budget="100%"))["spans"]
