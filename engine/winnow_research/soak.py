"""Two clients use one server for minutes: no answer may be lost, and memory must stay flat.

Each client asks, asks on, cancels, edits, requests code actions and spans, leaves in the orderly way or resets its
connection in mid-answer, and comes back. SmolLM2 is both drafter and target. Each question must get either an answer or
the cancellation that its client asked for, nothing else, and nothing twice. Resident memory is sampled every second.
Its median in the last fifth of the time is compared with that in the second fifth, and a straight line is fitted to all
but the first fifth.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import psutil

from winnow_research.lsp_client import Client, tcp_server

MODEL = "smollm2-135m"
SETTINGS = {
    "drafter": MODEL,
    "target": MODEL,
    "answer": {"maxTokens": 12, "temperature": 0},
    "budget": {"tokens": 120},
}
PATIENCE_S = 120.0
_CANCELLED = -32800
_ALLOWED = 0.05
_QUESTIONS = ("How is greet called?", "What does Counter count?", "Where is the total kept?", "Who calls add?")
_SOURCE = '''"""Module {number}."""


class Counter{number}:
    """Counts what is added."""

    def __init__(self):
        self.total = 0

    def add(self, amount):
        """Add `amount` to the total."""
        self.total += amount
        return greet(f"{{self.total}} of {number}")


def greet(name):
    """Say hello to `name`."""
    return f"Hello, {{name}}!"
'''


@dataclass
class Tally:
    """What was asked, and what came back."""

    sent: int = 0
    answered: int = 0
    cancelled: int = 0
    vanished: int = 0
    wrong: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)


class User:
    """A client that comes and goes until its time is over."""

    def __init__(self, address: tuple[str, int], folder: Path, seed: int, tally: Tally) -> None:
        self._address, self._folder, self._tally = address, folder, tally
        self._rng = Random(seed)
        self._version = 0
        self._client: Client | None = None

    async def work(self, until: float) -> None:
        """Do one thing after the other. Each awaits its answers before it returns."""
        doings = (
            self._ask,
            self._ask_on,
            self._cancel,
            self._edit,
            self._actions,
            self._spans,
            self._leave,
            self._vanish,
        )
        while time.monotonic() < until:
            doing = self._rng.choices(doings, weights=(4, 2, 3, 3, 3, 2, 1, 1))[0]
            await doing(await self._connected())
            self._tally.done[doing.__name__.strip("_")] += 1
        await self._leave(await self._connected())

    async def _connected(self) -> Client:
        if self._client is None:
            self._client = await Client.connect(*self._address)
            await self._client.initialize(self._folder, SETTINGS)
            document = {"uri": self._document, "languageId": "python", "version": 0, "text": _SOURCE.format(number=0)}
            self._client.notify("textDocument/didOpen", {"textDocument": document})
        return self._client

    async def _ask(self, client: Client, conversation: str | None = None) -> None:
        params = {"question": self._question, "partialResultToken": "deltas", "workDoneToken": "stages"}
        self._tally.sent += 1
        reply = await asyncio.wait_for(
            client.request("winnow/ask", params | {"conversation": conversation}), PATIENCE_S
        )
        self._tally.answered += reply.error is None
        if reply.error:
            self._tally.wrong.append(f"no answer, but {reply.error}")

    async def _ask_on(self, client: Client) -> None:
        for _ in range(2):
            await self._ask(client, "talk")

    async def _cancel(self, client: Client) -> None:
        """Cancel somewhere between queue and end. An answer that comes first is fine too."""
        self._tally.sent += 1
        identity, reply = client.send("winnow/ask", {"question": self._question})
        await asyncio.sleep(self._rng.random() * 2)
        client.notify("$/cancelRequest", {"id": identity})
        result = await asyncio.wait_for(reply, PATIENCE_S)
        self._tally.answered += result.error is None
        self._tally.cancelled += result.error is not None
        if result.error and result.error["code"] != _CANCELLED:
            self._tally.wrong.append(f"neither answered nor cancelled: {result.error}")

    async def _edit(self, client: Client) -> None:
        self._version += 1
        document = {"uri": self._document, "version": self._version}
        change = {"text": _SOURCE.format(number=self._rng.randrange(100))}
        client.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
        await asyncio.sleep(self._rng.random())

    async def _actions(self, client: Client) -> None:
        place = {"line": 9, "character": 8}
        where = {"textDocument": {"uri": self._document}, "range": {"start": place, "end": place}}
        reply = await asyncio.wait_for(
            client.request("textDocument/codeAction", where | {"context": {"diagnostics": []}}), PATIENCE_S
        )
        if not reply.result:
            self._tally.wrong.append(f"no code actions, but {reply}")

    async def _spans(self, client: Client) -> None:
        reply = await asyncio.wait_for(client.request("winnow/spans", {"question": self._question}), PATIENCE_S)
        if reply.error or not reply.result["spans"]:
            self._tally.wrong.append(f"no spans, but {reply}")

    async def _leave(self, client: Client) -> None:
        self._client = None
        await client.leave()

    async def _vanish(self, client: Client) -> None:
        """Reset the connection while an answer is on its way."""
        self._client = None
        self._tally.sent += 1
        self._tally.vanished += 1
        client.request("winnow/ask", {"question": self._question})
        await asyncio.sleep(self._rng.random() * 2)
        await client.vanish()

    @property
    def _question(self) -> str:
        return self._rng.choice(_QUESTIONS)

    @property
    def _document(self) -> str:
        return (self._folder / "module_0.py").as_uri()


async def sample(process: psutil.Process, every_s: float) -> list[tuple[float, int]]:
    """Sample (seconds, resident bytes) until cancelled."""
    samples: list[tuple[float, int]] = []
    started = time.monotonic()
    try:
        while True:
            samples.append((time.monotonic() - started, process.memory_info().rss))
            await asyncio.sleep(every_s)
    except asyncio.CancelledError:
        return samples


async def soak(seconds: float, scratch: Path) -> tuple[Tally, list[tuple[float, int]], int]:
    """The tally, the samples of memory, and the bytes still resident after everybody has left."""
    folders = [make_folder(scratch / f"project{number}") for number in range(2)]
    tally = Tally()
    async with tcp_server({**os.environ, "WINNOW_CACHE_DIR": str(scratch / "cache")}) as (host, port, process):
        watched = psutil.Process(process.pid)
        sampling = asyncio.create_task(sample(watched, 1.0))
        users = [User((host, port), folder, seed, tally) for seed, folder in enumerate(folders)]
        until = time.monotonic() + seconds
        await asyncio.gather(*(user.work(until) for user in users))
        sampling.cancel()
        samples = await sampling
        return tally, samples, await settled(watched)


async def settled(process: psutil.Process) -> int:
    """Resident bytes, once they have stopped falling."""
    before = process.memory_info().rss
    while True:
        await asyncio.sleep(2.0)
        now: int = process.memory_info().rss
        if now >= before:
            return now
        before = now


def make_folder(root: Path) -> Path:
    """A small project."""
    root.mkdir(parents=True)
    for number in range(5):
        (root / f"module_{number}.py").write_text(_SOURCE.format(number=number))
    return root


def memory_figures(samples: Sequence[tuple[float, int]]) -> Mapping[str, Any]:
    """Whether memory was flat. `fifths` are medians in MiB; `trend` is the fitted line's growth over the median."""
    size = len(samples) // 5
    fifths = [statistics.median(rss for _, rss in samples[n * size : (n + 1) * size]) for n in range(5)]
    settled_part = samples[size:]
    slope = statistics.linear_regression(*zip(*settled_part, strict=True)).slope
    duration = settled_part[-1][0] - settled_part[0][0]
    return {
        "fifths_mib": [round(median / 2**20, 1) for median in fifths],
        "last_over_second": round(fifths[4] / fifths[1], 4),
        "trend": round(slope * duration / fifths[1], 4),
        "peak_mib": round(max(rss for _, rss in samples) / 2**20, 1),
    }


def figures_of(tally: Tally, samples: Sequence[tuple[float, int]], after: int) -> tuple[dict[str, Any], bool]:
    """The figures of a soak, and whether nothing was lost and memory was flat."""
    lost = tally.sent - tally.answered - tally.cancelled - tally.vanished
    memory = memory_figures(samples)
    questions = {name: getattr(tally, name) for name in ("sent", "answered", "cancelled", "vanished")}
    figures = {
        "questions": {**questions, "lost": lost, "wrong": tally.wrong},
        "done": dict(tally.done),
        "memory": {**memory, "allowed_growth": _ALLOWED, "after_all_left_mib": round(after / 2**20, 1)},
    }
    flat = abs(memory["last_over_second"] - 1) <= _ALLOWED
    return figures, flat and not lost and not tally.wrong
