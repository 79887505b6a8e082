"""A bar counts down until something else is said."""

import asyncio
from typing import Any

import pytest

from winnow_engine.core import Kept, Progress
from winnow_lsp.server.render import progress_bars
from winnow_lsp.server.render.progress_bars import ProgressBars

PATIENCE_S = 120


class Client:
    """Notes what its bar shows."""

    def __init__(self) -> None:
        self.work_done_progress, self.tokens = self, dict[Any, Any]()
        self.messages: list[str] = []
        self.changes = 0

    def begin(self, _token: object, _begin: object) -> None: ...

    def report(self, _token: object, report: Any) -> None:
        self.messages.append(report.message)

    def end(self, _token: object, _end: object) -> None: ...

    def changed(self) -> None:
        self.changes += 1


async def until(holds: Any) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0)


async def test_the_wait_is_said_again_until_the_answer_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_bars, "_INTERVAL_S", 0)
    monkeypatch.setattr(progress_bars, "_COUNTDOWN_S", 0.001)
    client: Any = Client()
    bars = ProgressBars(client, client.changed)
    async with bars.show("token") as bar:
        bars.running = bar
        bar.kept(Kept((), 18.0))
        bar.report(Progress("prefill", 0, 2_900))
        await until(lambda: client.messages.count("reading 2,900 tokens, about 18 s") > 2)
        assert bar.message == "reading 2,900 tokens, about 18 s"
        before = client.changes
        bar.say("answering")
        assert client.changes == before + 1
        await until(lambda: client.messages[-1] == "answering")
        await asyncio.sleep(0.01)
        assert bar.message == "answering"
        bar.kept(Kept((), 18.0))
        await until(lambda: bar.message.startswith("reading"))
    assert bars.running is None
    said = client.changes
    await asyncio.sleep(0.01)
    assert client.changes == said
