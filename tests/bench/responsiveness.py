"""How long does the language server keep a client waiting while it indexes, reads a prompt and decodes?

    python tests/bench/responsiveness.py [--questions 5] [--max-tokens 200]

The server runs with the default models on click's source distribution, over standard input and output. A ping is sent
every 20 ms, even if the one before has not been answered: in turns a code action on a small open document, and a
request of an unknown method. Its time, in milliseconds, is from the moment it was due to the moment its answer was
read. This includes the time that the client itself waits for a core.

The lag of a delta is the time from the engine's first token to the first delta that the client reads. The server says
how long after the start of work that token came. So `(first delta - question sent) - ttft` is an upper bound, which
includes the question's own way to the engine.
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
    """Requests at a fixed rate, whose times are grouped by the phase the server was in when they were due."""

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
        """Ping during this phase."""
        self._phase = phase
        pinging = asyncio.create_task(self._ping())
        try:
            yield
        finally:
            pinging.cancel()

    def now(self, phase: str) -> None:
        """Begin another phase."""
        self._phase = phase

    async def figures(self) -> dict[str, dict[str, Any]]:
        """Times in milliseconds by phase and kind of request."""
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
    """Notes when the first delta of each question comes, and when the first index is ready."""

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
    """The figures of a server process with a cold index."""
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
