"""Many clients ask one `winnow serve --http` at once: all must be answered, each from its own code, and in fair turns.

    python -m tests.bench.team [--clients 50] [--rounds 3]

All is on this machine: the server with SmolLM2 as its drafter, and a target that takes half a second and says which
marks and which prompt it has seen. Each conversation has 2,000 tokens of code and a function of its own with a
mark in it, which the question names: with too small a budget for the rest, an answer is right if it has that mark and
no other. One user has ten clients, the others one each. One in seven requests is given up midway. Then the first round
is asked once more, one after the other, of a new server: were the same prompts made?
"""

from __future__ import annotations

import argparse
import hashlib
import http.server
import json
import re
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import httpx

from winnow_research.machine import report

from ..real.served import serving

PATIENCE_S = 300
FAILED = "error: "
BUDGET = 300
_HEAVY_CLIENTS = 10
_LEFT_EVERY = 7  # requests
_BLOCKS, _BLOCK_CHARACTERS = 4, 1500
_SOURCES = sorted((Path(__file__).parents[2] / "engine" / "winnow_engine" / "index").glob("*.py"))[:12]
_MARK = re.compile(r"MARK-\d+")
_TARGET_S = 0.5


class Target(http.server.BaseHTTPRequestHandler):
    """Answers with the marks in the prompt, and a hash of it. Speaks as much of OpenAI's API as that takes."""

    protocol_version = "HTTP/1.1"

    def answer(self, messages: list[dict[str, Any]]) -> str:
        """What it says to some messages."""
        time.sleep(_TARGET_S)
        said = json.dumps(messages)
        return f"{' '.join(sorted(set(_MARK.findall(said))))} {hashlib.blake2b(said.encode()).hexdigest()[:16]}"

    def do_GET(self) -> None:
        self._send(json.dumps({"object": "list", "data": [{"id": "m", "context_length": 32768}]}), "application/json")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.path.endswith("/chat/completions"):
            self.send_error(404)
            return
        answer = self.answer(json.loads(body)["messages"])
        chunks = ({"delta": {"content": answer}, "finish_reason": None}, {"delta": {}, "finish_reason": "stop"})
        events = "".join(f"data: {json.dumps({'choices': [{'index': 0, **chunk}]})}\n\n" for chunk in chunks)
        self._send(events + "data: [DONE]\n\n", "text/event-stream")

    def _send(self, text: str, kind: str) -> None:
        try:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())
        except OSError:  # the server has closed the connection of a client that left
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def target(handler: type[Target] = Target) -> Iterator[str]:
    """The address of a target, as an option of `winnow serve`."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1#m"
        finally:
            server.shutdown()
            thread.join()


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of a client of a user, and what became of it: the answer, an error, or None if it was given up."""

    client: int
    round: int
    user: str
    answer: str | None
    seconds: float

    @property
    def mark(self) -> str:
        """What a right answer says first."""
        return mark(self.client, self.round)

    @property
    def right(self) -> bool:
        """Whether the target saw this conversation's mark and no other."""
        return self.answer is not None and self.answer.split()[:-1] == [self.mark]


def mark(client: int, turn: int) -> str:
    return f"MARK-{1000 * turn + client}"


@cache
def _blocks() -> tuple[str, ...]:
    return tuple(f"```python {path.name}\n{path.read_text()[:_BLOCK_CHARACTERS]}\n```\n" for path in _SOURCES)


def conversation(client: int, turn: int) -> list[dict[str, str]]:
    """Code that others have too, in another order, and a function that nobody else has."""
    name = f"label_of_basket_{turn}_{client}"
    own = f'```python labels_{turn}_{client}.py\ndef {name}(items):\n    """The label."""\n'
    own += f'    return "{mark(client, turn)}" if items else None\n```\n'
    blocks = [*Random(f"{client} {turn}").sample(_blocks(), _BLOCKS), own]
    Random(f"order {client} {turn}").shuffle(blocks)
    return [
        {"role": "user", "content": "Here is my code.\n" + "".join(blocks)},
        {"role": "assistant", "content": "I have read it."},
        {"role": "user", "content": f"What does `{name}` return?"},
    ]


class Team:
    """Users with keys, who ask a server."""

    def __init__(self, clients: int, folder: Path, heavy: int = _HEAVY_CLIENTS) -> None:
        """The first user has `heavy` of the `clients`, the others one each. Their keys lie in `folder`."""
        self.users = [f"user{max(client - heavy + 1, 0)}" for client in range(clients)]
        self.keys = {user: f"{user}-0123456789abcdef" for user in self.users}
        self.file = folder / "keys"
        self.file.write_text("".join(f"{user} {key}\n" for user, key in self.keys.items()))
        self.file.chmod(0o600)

    def ask(self, url: str, client: int, turn: int, leaves_after_s: float | None = None) -> Asked:
        """Ask, and wait for the answer or for so long."""
        user, started = self.users[client], time.perf_counter()
        body = {"messages": conversation(client, turn), "max_tokens": 64}
        headers = {"Authorization": f"Bearer {self.keys[user]}"}
        timeout = PATIENCE_S if leaves_after_s is None else httpx.Timeout(PATIENCE_S, read=leaves_after_s)
        try:
            found = httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers, timeout=timeout)
        except httpx.ReadTimeout:
            if leaves_after_s is None:
                raise
            return Asked(client, turn, user, None, time.perf_counter() - started)
        failed = found.status_code != httpx.codes.OK
        text = f"{FAILED}{found.text}" if failed else found.json()["choices"][0]["message"]["content"]
        return Asked(client, turn, user, text, time.perf_counter() - started)

    def all_at_once(self, url: str, rounds: int) -> list[Asked]:
        """Every client asks its rounds one after the other, all clients at once; some give up."""

        def one(client: int) -> list[Asked]:
            random = Random(client)
            leaves = [(client + turn) % _LEFT_EVERY == _LEFT_EVERY - 1 for turn in range(rounds)]
            return [self.ask(url, client, turn, random.random() if leaves[turn] else None) for turn in range(rounds)]

        with ThreadPoolExecutor(len(self.users)) as threads:
            return [asked for found in threads.map(one, range(len(self.users))) for asked in found]


def measured(asked: Sequence[Asked]) -> dict[str, Any]:
    """What to report of requests that ran at once."""
    answered = [one for one in asked if one.answer is not None]
    by_user: dict[str, list[float]] = defaultdict(list)
    for one in answered:
        by_user[one.user].append(one.seconds)
    light = [statistics.mean(seconds) for user, seconds in by_user.items() if user != "user0"]
    return {
        "asked": len(asked),
        "given up": len(asked) - len(answered),
        "answered": sum(not str(one.answer).startswith(FAILED) for one in answered),
        "errors": sorted({str(one.answer)[:120] for one in answered if str(one.answer).startswith(FAILED)})[:5],
        "wrong": sum(not one.right for one in answered),
        "p50_s": round(statistics.median(one.seconds for one in answered), 2),
        "p95_s": round(statistics.quantiles([one.seconds for one in answered], n=20)[-1], 2),
        "user with ten clients, p50_s": round(statistics.median(by_user["user0"]), 2),
        "others, p50_s": round(statistics.median(light), 2),
        "others, Jain's index": round(sum(light) ** 2 / len(light) / sum(one * one for one in light), 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=50, choices=range(_HEAVY_CLIENTS + 2, 61), metavar="12…60")
    parser.add_argument("--rounds", type=int, default=3, choices=range(1, 11), metavar="1…10")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, target() as address:
        folder = Path(name)
        team = Team(options.clients, folder)
        serve = ("--target", address, "--budget", str(BUDGET))
        with serving(folder / "cache", *serve, WINNOW_HTTP_KEYS=str(team.file)) as (url, _):
            until_ready(url, team)
            started = time.perf_counter()
            cold = team.all_at_once(url, options.rounds)
            wall_s = time.perf_counter() - started
        with serving(folder / "cache", *serve, WINNOW_HTTP_KEYS=str(team.file)) as (url, _):
            until_ready(url, team)
            alone = [team.ask(url, client, 0) for client in range(options.clients)]
        answered = [one for one in cold if one.answer is not None and one.round == 0]
        figures = {
            "at once, nothing indexed": measured(cold),
            "at once, wall_s": round(wall_s, 1),
            "alone, p50_s": round(statistics.median(one.seconds for one in alone), 2),
            "prompts other than alone": sum(one.answer != alone[one.client].answer for one in answered),
        }
        report("team", figures)


def until_ready(url: str, team: Team) -> None:
    """Wait until the models are loaded."""
    key = team.file.read_text().split()[1]
    while httpx.get(f"{url}/health", headers={"x-api-key": key}).status_code != 200:
        time.sleep(0.1)


if __name__ == "__main__":
    main()
