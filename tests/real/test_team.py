"""A server for a team: a key for each user, and many questions at once where the target is a server, too."""

import http.server
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from ..bench.team import BUDGET, Team, target, until_ready
from .llama_server import serving as llama_serving
from .served import serving

pytestmark = pytest.mark.real_weights

PATIENCE_S = 120
TOGETHER = 12
KEYS = {f"user{number}": f"{number:02}-0123456789abcdef" for number in range(50)}
QUESTION = [{"role": "user", "content": "Say hello."}]


class _Together(http.server.BaseHTTPRequestHandler):
    """Answers no question before `TOGETHER` of them are there. Speaks as much of OpenAI's API as that takes."""

    protocol_version = "HTTP/1.1"
    barrier = threading.Barrier(TOGETHER)

    def do_GET(self) -> None:
        self._send(json.dumps({"object": "list", "data": [{"id": "m", "context_length": 4096}]}), "application/json")

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if not self.path.endswith("/chat/completions"):
            self.send_error(404)
            return
        self.barrier.wait(PATIENCE_S)
        chunks = ({"choices": [{"index": 0, "delta": {"content": "Hello."}, "finish_reason": None}]},
                  {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})  # fmt: skip
        self._send(
            "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n", "text/event-stream"
        )

    def _send(self, text: str, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    path.write_text("".join(f"{user} {key}\n" for user, key in KEYS.items()))
    path.chmod(0o600)
    return path


@pytest.fixture
def together() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Together) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1#m"
        finally:
            server.shutdown()
            thread.join()


def ask(url: str, key: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    body = {"messages": QUESTION, "max_tokens": 4}
    return httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers, timeout=PATIENCE_S)


def test_questions_to_a_target_on_a_server_are_answered_together(users_cache: Path, keys: Path, together: str) -> None:
    with (
        serving(users_cache, "--target", together, WINNOW_HTTP_KEYS=str(keys)) as (url, _),
        ThreadPoolExecutor(TOGETHER) as users,
    ):
        answers = list(users.map(lambda key: ask(url, key), list(KEYS.values())[:TOGETHER]))
        assert [answer.json()["choices"][0]["message"]["content"] for answer in answers] == ["Hello."] * TOGETHER
        assert ask(url, "of-nobody-0123456789").status_code == 401
        assert httpx.get(f"{url}/v1/models").status_code == 401


def test_fifty_users_of_a_local_target_are_all_answered(
    users_cache: Path, keys: Path, tmp_path: Path, smollm2: Path
) -> None:
    with (
        llama_serving(smollm2, tmp_path / "log", "--interrupt_requests", "false") as (model, _),
        serving(users_cache, "--target", f"{model}/v1#small", WINNOW_HTTP_KEYS=str(keys)) as (url, _),
        ThreadPoolExecutor(len(KEYS)) as users,
    ):
        answers = list(users.map(lambda key: ask(url, key), KEYS.values()))
    assert [answer.status_code for answer in answers] == [200] * len(KEYS)
    said = {answer.json()["choices"][0]["message"]["content"] for answer in answers}
    assert len(said) == 1  # greedy, and the same question
    assert said != {""}


def test_clients_who_ask_at_once_each_get_what_they_get_alone_also_where_others_leave(
    users_cache: Path, tmp_path: Path
) -> None:
    team = Team(6, tmp_path, heavy=2)
    with target() as address:
        options = ("--target", address, "--budget", str(BUDGET))
        with serving(users_cache, *options, WINNOW_HTTP_KEYS=str(team.file)) as (url, _):
            until_ready(url, team)
            alone = [team.ask(url, client, 0) for client in range(6)]
        with serving(users_cache, *options, WINNOW_HTTP_KEYS=str(team.file)) as (url, _):
            until_ready(url, team)
            found = team.all_at_once(url, 2)
            after = team.ask(url, 0, 2)
    answered = [one for one in found if one.answer is not None]
    assert [one for one in (*alone, *answered, after) if not one.right] == []
    assert {one.client: one.answer for one in answered if one.round == 0}.items() <= dict(
        enumerate(one.answer for one in alone)
    ).items()
    assert len(found) == 12
    assert len(answered) >= 11
