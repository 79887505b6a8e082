"""Deltas are numbered, whole and joined."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from winnow_lsp.server.render.deltas import Deltas


class Wire:
    def __init__(self) -> None:
        self.values: list[dict[str, Any]] = []

    def notify(self, method: str, params: Any) -> None:
        assert (method, params.token) == ("$/progress", "text")
        self.values.append(params.value)


async def stream(pieces: list[str]) -> Wire:
    wire = Wire()
    deltas = Deltas(wire.notify, "text", lambda: None)
    await asyncio.to_thread(lambda: [deltas.add(piece) for piece in pieces])
    deltas.close()
    return wire


@settings(deadline=None)
@given(pieces=st.lists(st.text(), max_size=50))
def test_together_they_are_the_text_and_count_from_0(pieces: list[str]) -> None:
    wire = asyncio.run(stream(pieces))
    assert "".join(value["text"] for value in wire.values) == "".join(pieces)
    assert [value["sequence"] for value in wire.values] == list(range(len(wire.values)))
    assert {value["kind"] for value in wire.values} <= {"delta"}


async def test_what_was_kept_is_sent_with_the_token_it_belongs_to() -> None:
    sent: list[tuple[str, Any]] = []
    for token in ("text", None):
        deltas = Deltas(lambda method, params: sent.append((method, params)), token, lambda: None)
        deltas.kept({"spans": [], "seconds": 2.0})
    await asyncio.sleep(0)
    assert sent == [("winnow/kept", {"token": "text", "spans": [], "seconds": 2.0})]


async def test_a_thought_goes_ahead_in_a_field_of_its_own() -> None:
    wire, begun = Wire(), list[str]()
    deltas = Deltas(wire.notify, "text", lambda: begun.append("answer"), lambda: begun.append("thought"))
    for put, text in ((deltas.think, "Hm, "), (deltas.think, "so."), (deltas.add, "Ye"), (deltas.add, "s.")):
        put(text)
        await asyncio.sleep(0)
    deltas.close()
    assert begun == ["thought", "answer"]
    assert "".join(value["text"] for value in wire.values) == "Yes."
    assert "".join(value.get("thinking", "") for value in wire.values) == "Hm, so."
    assert [value["sequence"] for value in wire.values] == list(range(len(wire.values)))
    assert wire.values[0] == {"kind": "delta", "sequence": 0, "text": "", "thinking": "Hm, "}
