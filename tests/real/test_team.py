"""A server for a team: a key for each user, and many questions at once where the target is a server, too."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from ..unit.targets.hostile import Hostile, Talk, large, served
from .llama_server import serving as llama_serving
from .served import serving
from .team import BUDGET, Team, say, say_marks, until_ready

pytestmark = pytest.mark.real_weights

PATIENCE_S = 120
TOGETHER = 12
QUESTION = [{"role": "user", "content": "Say hello."}]


@pytest.fixture
def users(tmp_path: Path) -> Team:
    return Team(50, tmp_path, heavy=1)


def ask(url: str, key: str) -> httpx.Response:
    headers = {"Authorization": f"Bearer {key}"}
    body = {"messages": QUESTION, "max_tokens": 4}
    return httpx.post(f"{url}/v1/chat/completions", json=body, headers=headers, timeout=PATIENCE_S)


def test_questions_to_a_target_on_a_server_are_answered_together(users_cache: Path, users: Team) -> None:
    barrier = threading.Barrier(TOGETHER)

    def together(talk: Talk) -> None:
        """Answer no question before `TOGETHER` of them are there."""
        barrier.wait(PATIENCE_S)
        say(talk, "Hello.")

    with (
        served(Hostile(together, large)) as target,
        serving(users_cache, "--target", target.url, WINNOW_HTTP_KEYS=str(users.file)) as (url, _),
        ThreadPoolExecutor(TOGETHER) as threads,
    ):
        answers = list(threads.map(lambda key: ask(url, key), list(users.keys.values())[:TOGETHER]))
        assert [answer.json()["choices"][0]["message"]["content"] for answer in answers] == ["Hello."] * TOGETHER
        assert ask(url, "of-nobody-0123456789").status_code == 401
        assert httpx.get(f"{url}/v1/models").status_code == 401


def test_fifty_users_of_a_local_target_are_all_answered(
    users_cache: Path, users: Team, tmp_path: Path, smollm2: Path
) -> None:
    with (
        llama_serving(smollm2, tmp_path / "log", "--interrupt_requests", "false") as (model, _),
        serving(users_cache, "--target", f"{model}/v1#small", WINNOW_HTTP_KEYS=str(users.file)) as (url, _),
        ThreadPoolExecutor(len(users.keys)) as threads,
    ):
        answers = list(threads.map(lambda key: ask(url, key), users.keys.values()))
    assert [answer.status_code for answer in answers] == [200] * 50
    said = {answer.json()["choices"][0]["message"]["content"] for answer in answers}
    assert len(said) == 1  # greedy, and the same question
    assert said != {""}


def test_clients_who_ask_at_once_each_get_what_they_get_alone_also_where_others_leave(
    users_cache: Path, tmp_path: Path
) -> None:
    team = Team(6, tmp_path, heavy=2)
    with served(Hostile(say_marks, large)) as target:
        options = ("--target", target.url, "--budget", str(BUDGET))
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
