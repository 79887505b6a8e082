"""What a call waits for."""

import asyncio

import pytest

from winnow_engine.core import Kept, Progress, Span, UnitKind
from winnow_lsp.mcp import repository
from winnow_lsp.mcp.repository import Reports


async def test_each_line_is_sent_once_with_a_number_that_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "_EVERY_S", 0.001)
    sent: list[tuple[float, str]] = []
    told = asyncio.Event()

    async def send(number: float, line: str) -> None:
        sent.append((number, line))
        told.set()

    async with Reports(send) as reports:
        for note in (
            lambda: reports.moved(2),
            lambda: reports.moved(0),
            lambda: reports.progress(Progress("index", 3, 9)),
            lambda: reports.kept(Kept((Span("a.py", 2, 5, 9, 1.0, UnitKind.FUNCTION),), None)),
            lambda: reports.progress(Progress("prefill", 5, 10, 5, 10, 2.0, left_s=2.0)),
            lambda: reports.text("It"),
        ):
            note()
            note()
            await asyncio.wait_for(told.wait(), 120)
            told.clear()
    assert sent == [
        (1.0, "waiting, 2 before this one"),
        (2.0, "searching"),
        (3.0, "indexing 3 of 9 files"),
        (4.0, "waiting for the target; found a.py:2-5"),
        (5.0, "reading 5 of 10 tokens, about 2 s"),
        (6.0, "answering"),
    ]
