"""The target on a server, with llama-cpp-python's server as a real process on real weights."""

import json
import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from winnow_engine.core import Cancellation, Sampling
from winnow_engine.errors import TargetError, TargetProtocolError, TargetRefusedError
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Request
from winnow_engine.targets.local.target import LlamaTarget
from winnow_engine.targets.remote.address import KEY_VARIABLE, parse
from winnow_engine.targets.remote.client import RetryPolicy
from winnow_engine.targets.remote.target import HttpTarget

from .llama_server import CONTEXT, serving
from .user import winnow

pytestmark = pytest.mark.real_weights

QUESTION = [Message("user", "Write the numbers from 1 to 30, one a line.")]
SAMPLING = Sampling(max_tokens=24)
SECRET = "sk-of-the-test"


@pytest.fixture(scope="module")
def url(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(smollm2, tmp_path_factory.mktemp("server") / "log") as (url, _):
        yield url


@pytest.fixture
def target(url: str) -> HttpTarget:
    return HttpTarget.open(parse(f"{url}/v1#small"), CONTEXT)


def test_the_same_weights_answer_the_same_as_in_this_process(target: HttpTarget, smollm2: Path) -> None:
    pieces = list[str]()
    answer = target.generate(Request(target.chat_prompt(QUESTION), SAMPLING, pieces.append))
    with closing(LlamaTarget.open(smollm2)) as local:
        expected = local.generate(Request(local.chat_prompt(QUESTION), SAMPLING))
        assert target.count(QUESTION[0].content) == local.count(QUESTION[0].content)
        assert 0 <= len(target.chat_prompt(QUESTION)) - expected.prompt_tokens <= 40
    assert "".join(pieces) == answer.text == expected.text
    assert len(pieces) > 5
    assert answer.finish == expected.finish == "length"


def test_cancelling_frees_the_server_for_the_next_question(target: HttpTarget) -> None:
    cancellation, started = Cancellation(), time.perf_counter()
    long = target.chat_prompt([Message("user", "Write a very long story about a fox.")])
    answer = target.generate(Request(long, Sampling(max_tokens=2000), lambda _: cancellation.cancel(), cancellation))
    assert answer.finish == "cancelled"
    next_one = target.generate(Request(target.chat_prompt(QUESTION), SAMPLING))
    assert next_one.text
    a_token_s = next_one.decode_s / next_one.decode_tokens
    assert time.perf_counter() - started < 1000 * a_token_s + 30, "half of what all 2,000 tokens would take"


def test_a_prompt_beyond_the_servers_context_gets_an_error_that_says_so(url: str) -> None:
    """When asked to stream, this server breaks off without saying the reason, which it logs."""
    target = HttpTarget.open(parse(f"{url}/v1#small"), context_limit=100_000)
    prompt = target.chat_prompt([Message("user", "word " * 2 * CONTEXT)])
    with pytest.raises(TargetProtocolError, match="context is shorter than 100,000 tokens"):
        target.generate(Request(prompt, SAMPLING))


def test_what_a_server_said_until_it_was_killed_is_kept_and_noted(smollm2: Path, tmp_path: Path) -> None:
    with serving(smollm2, tmp_path / "log") as (url, process):
        target = HttpTarget.open(parse(url), CONTEXT, RetryPolicy(retries=(0.05,)))
        prompt, pieces, killed = target.chat_prompt(QUESTION), list[str](), list[float]()

        def kill(piece: str) -> None:
            pieces.append(piece)
            if len(pieces) == 3:
                process.send_signal(signal.SIGKILL)
                killed.append(time.perf_counter())

        generation = target.generate(Request(prompt, Sampling(max_tokens=2000), kill))
        assert (generation.text, generation.finish) == ("".join(pieces), "length")
        assert any("in the middle" in notice for notice in generation.notices)
        assert time.perf_counter() - killed[0] < 30  # a silent server would be waited for longer
        with pytest.raises(TargetError, match="is its server running"):
            target.generate(Request(prompt, SAMPLING))


def test_the_servers_key_is_taken_from_the_environment(
    smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(smollm2, tmp_path / "log", "--api_key", SECRET) as (url, _):
        for wrong in ("", "sk-wrong"):
            monkeypatch.setenv(KEY_VARIABLE, wrong)
            with pytest.raises(TargetRefusedError, match=KEY_VARIABLE):
                HttpTarget.open(parse(url))
        monkeypatch.setenv(KEY_VARIABLE, SECRET)
        target = HttpTarget.open(parse(url), CONTEXT)
        assert target.generate(Request(target.chat_prompt(QUESTION), SAMPLING)).text
    assert SECRET not in (tmp_path / "log").read_text()


def test_ask_takes_a_url(url: str, tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("def area(r):\n    return 3.14159 * r * r\n")
    common = ("ask", "What does area do?", "-w", str(tmp_path), "--drafter", "smollm2-135m", "--json")
    done = winnow(*common, "--target", url, "--set", "maxTokens=16", WINNOW_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["answer"].strip()
    assert answer["stats"]["target_host"] is None
    for bad, code, says in (
        (f"{url}/v1#other", 3, "has no model other"),
        ("http://gpu.example.org/v1", 2, "plain http"),
        ("http://127.0.0.1:1/v1", 1, "cannot reach"),
    ):
        done = winnow(*common, "--target", bad, WINNOW_CACHE_DIR=str(tmp_path / "cache"))
        assert (done.returncode, done.stdout) == (code, "")
        assert says in done.stderr


def test_doctor_asks_the_server(url: str, tmp_path: Path) -> None:
    done = winnow("doctor", "--target", url, WINNOW_CACHE_DIR=str(tmp_path))
    (line,) = [line for line in done.stdout.splitlines() if " target: " in line]
    assert line.startswith("ok       target: small on this machine")
    assert "llama-cpp-python's" in line
    done = winnow("doctor", "--target", "http://127.0.0.1:1", WINNOW_CACHE_DIR=str(tmp_path))
    assert done.returncode == 1
    assert "missing  target: cannot reach" in done.stdout
