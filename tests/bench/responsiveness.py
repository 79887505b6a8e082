"""How long the language server keeps a client waiting while it indexes, reads a prompt and decodes.

    python tests/bench/responsiveness.py [--questions 5] [--max-tokens 200]

The default models, click's source distribution, standard input and output. A ping goes out every 20 ms, whether or
not the one before has been answered: a code action on a small open document, and a request of an unknown method, in
turns. Its time is from the moment it was due to the moment its answer was read, in milliseconds; the client's own
waiting for a core is in it.

The delta's lag is from the engine's first token to the first delta read by the client. The server tells how long
after the start of work that token came, so `(first delta - question sent) - ttft` is the lag with the question's own
way to the engine in it: an upper bound.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from client import Client, Reply, stdio_server

from winnow_research.click_sources import fetch, questions
from winnow_research.machine import median, report

_EVERY_S = 0.02
_ALLOWED_MS, _ALLOWED_LAG_MS = 50, 20
_DOCUMENT = "def greet(name: str) -> str:\n    return f'Hello, {name}!'\n"


class Pings:
    """Requests at a fixed rate; their times by the phase the server was in when they were due."""

    def __init__(self, client: Client, document: str) -> None:
        here = {"line": 1, "character": 4}
        action = {"textDocument": {"uri": document}, "range": {"start": here, "end": here}}
        self._requests = (
            ("textDocument/codeAction", action | {"context": {"diagnostics": []}}),
            ("winnow/ping", {}),
        )
        self._client = client
        self._phase = ""
        self._sent: list[tuple[str, str, float, asyncio.Future[Reply]]] = []

    @asynccontextmanager
    async def during(self, phase: str) -> AsyncIterator[None]:
        """Ping as long as this lasts."""
        self._phase = phase
        pinging = asyncio.create_task(self._ping())
        try:
            yield
        finally:
            pinging.cancel()

    def now(self, phase: str) -> None:
        """What follows is another phase."""
        self._phase = phase

    async def figures(self) -> dict[str, dict[str, Any]]:
        """Milliseconds by phase and kind of request."""
        times: dict[str, list[float]] = {}
        for phase, kind, due, reply in self._sent:
            times.setdefault(f"{phase} {kind}", []).append((await reply).at - due)
        return {name: _summary(values) for name, values in times.items()}

    async def _ping(self) -> None:
        due = time.perf_counter()
        while True:
            kind, params = self._requests[len(self._sent) % len(self._requests)]
            self._sent.append((self._phase, kind, due, self._client.request(kind, params)))
            due += _EVERY_S
            await asyncio.sleep(max(0.0, due - time.perf_counter()))


def _summary(seconds: Sequence[float]) -> dict[str, Any]:
    ordered = sorted(1000 * value for value in seconds)

    def at(share: float) -> float:
        return round(ordered[min(int(share * len(ordered)), len(ordered) - 1)], 1)

    return {"count": len(ordered), "p50": at(0.5), "p99": at(0.99), "max": round(ordered[-1], 1)}


class Watch:
    """When the first delta of each question came, and when the first index is there."""

    def __init__(self, client: Client, pings: Pings) -> None:
        self.indexed, self.first_delta = asyncio.Event(), 0.0
        self._pings = pings
        self._seen_indexing = False
        client.on_notification = self._notified

    def _notified(self, method: str, params: Any) -> None:
        if method == "winnow/status":
            self._seen_indexing |= params["state"] == "indexing"
            if self._seen_indexing and params["state"] == "ready":
                self.indexed.set()
        elif method == "$/progress" and params["value"]["kind"] == "delta" and not self.first_delta:
            self.first_delta = time.perf_counter()
            self._pings.now("decode")


async def _ask(client: Client, watch: Watch, pings: Pings, question: str) -> dict[str, float]:
    watch.first_delta = 0.0
    pings.now("selection and prefill")
    sent = time.perf_counter()
    reply = await client.request("winnow/ask", {"question": question, "partialResultToken": "deltas"})
    assert reply.error is None, reply.error
    stats = reply.result["stats"]
    lag = watch.first_delta - sent - stats["ttft"]
    return {"lag_ms": round(1000 * lag, 1), "prefill_s": stats["stages"]["prefill"], "tokens": stats["decodeTokens"]}


async def measure(root: Path, cache: Path, questions: Sequence[str], max_tokens: int) -> dict[str, Any]:
    """The figures of one server process with a cold index."""
    document = (root / "greeting.py").as_uri()
    async with stdio_server({**os.environ, "WINNOW_CACHE_DIR": str(cache)}) as (client, _):
        pings = Pings(client, document)
        watch = Watch(client, pings)
        opened = {"uri": document, "languageId": "python", "version": 1, "text": _DOCUMENT}
        await client.initialize(root, {"answer": {"maxTokens": max_tokens}})
        client.notify("textDocument/didOpen", {"textDocument": opened})
        async with pings.during("cold index"):
            await watch.indexed.wait()
            asked = [await _ask(client, watch, pings, question) for question in questions]
        return {"pings_ms": await pings.figures(), "questions": asked}


def main() -> None:
    """Measure, print, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=5)
    parser.add_argument("--max-tokens", type=int, default=200)
    options = parser.parse_args()
    asked = [written.text for written in questions()]
    with tempfile.TemporaryDirectory() as scratch:
        root = fetch()
        measured = measure(root, Path(scratch) / "cache", asked[: options.questions], options.max_tokens)
        figures = asyncio.run(measured)
    lags = [asked["lag_ms"] for asked in figures["questions"]]
    figures["first_delta_lag_ms"] = {"median": median(lags), "max": max(lags), "allowed": _ALLOWED_LAG_MS}
    figures["ping_p99_allowed_ms"] = _ALLOWED_MS
    report("responsiveness", figures)


if __name__ == "__main__":
    main()
