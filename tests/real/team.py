"""Clients of a team that ask one `winnow serve --http` at once, and a target that says which prompt it has seen.

Each conversation has 2,000 tokens of code and a function of its own with a mark in it, which the question names: with
too small a budget for the rest, an answer is right if it has that mark and no other.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import httpx

from ..unit.targets.hostile import DONE, Talk, event

PATIENCE_S = 300
FAILED = "error: "
BUDGET = 300
_LEFT_EVERY = 7  # requests
_BLOCKS, _BLOCK_CHARACTERS = 4, 1500
_SOURCES = sorted((Path(__file__).parents[2] / "engine" / "winnow_engine" / "index").glob("*.py"))[:12]
_MARK = re.compile(r"MARK-\d+")
_TARGET_S = 0.5


def say_marks(talk: Talk) -> None:
    """Answer with the marks in the prompt, and a hash of it."""
    time.sleep(_TARGET_S)
    said = json.dumps(talk.document["messages"])
    marks = " ".join(sorted(set(_MARK.findall(said))))
    say(talk, f"{marks} {hashlib.blake2b(said.encode()).hexdigest()[:16]}")


def say(talk: Talk, text: str) -> None:
    """Answer with a text."""
    talk.stream(event(text), event(finish="stop"), DONE)


@dataclass(frozen=True, slots=True)
class Asked:
    """A client's request, and what became of it: the answer, an error, or None if it was given up."""

    client: int
    round: int
    answer: str | None

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

    def __init__(self, clients: int, folder: Path, heavy: int) -> None:
        """The first user has `heavy` of the `clients`, the others one each. Their keys lie in `folder`."""
        self.users = [f"user{max(client - heavy + 1, 0)}" for client in range(clients)]
        self.keys = {user: f"{user}-0123456789abcdef" for user in self.users}
        self.file = folder / "keys"
        self.file.write_text("".join(f"{user} {key}\n" for user, key in self.keys.items()))
        self.file.chmod(0o600)

    def ask(self, url: str, client: int, turn: int, leaves_after_s: float | None = None) -> Asked:
        """Ask, and wait for the answer or for so long."""
        body = {"messages": conversation(client, turn), "max_tokens": 64}
        headers = {"Authorization": f"Bearer {self.keys[self.users[client]]}"}
        timeout = PATIENCE_S if leaves_after_s is None else httpx.Timeout(PATIENCE_S, read=leaves_after_s)
        try:
            found = httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers, timeout=timeout)
        except httpx.ReadTimeout:
            if leaves_after_s is None:
                raise
            return Asked(client, turn, None)
        failed = found.status_code != httpx.codes.OK
        text = f"{FAILED}{found.text}" if failed else found.json()["choices"][0]["message"]["content"]
        return Asked(client, turn, text)

    def all_at_once(self, url: str, rounds: int) -> list[Asked]:
        """Every client asks its rounds one after the other, all clients at once; some give up."""

        def one(client: int) -> list[Asked]:
            random = Random(client)
            leaves = [(client + turn) % _LEFT_EVERY == _LEFT_EVERY - 1 for turn in range(rounds)]
            return [self.ask(url, client, turn, random.random() if leaves[turn] else None) for turn in range(rounds)]

        with ThreadPoolExecutor(len(self.users)) as threads:
            return [asked for found in threads.map(one, range(len(self.users))) for asked in found]


def until_ready(url: str, team: Team) -> None:
    """Wait until the models are loaded."""
    key = team.file.read_text().split()[1]
    while httpx.get(f"{url}/health", headers={"x-api-key": key}).status_code != 200:
        time.sleep(0.1)
