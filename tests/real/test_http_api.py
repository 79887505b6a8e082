"""`winnow serve --http` as a process with real weights, asked by httpx, by OpenAI's own package, and by Winnow."""

import inspect
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import httpx
import openai
import pytest

from winnow_engine.core import Sampling
from winnow_engine.encoder import segments, template, weights
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Request
from winnow_engine.targets.remote.address import parse
from winnow_engine.targets.remote.target import HttpTarget

from .served import MODEL, post, serving, serving_fixture

pytestmark = pytest.mark.real_weights

BUDGET = 600
QUESTION = "Which function cuts a file's tokens into segments at unit borders?"
CODE = "".join(f"```python {m.__name__}.py\n{inspect.getsource(m)}```\n" for m in (template, segments, weights))
LONG = [
    {"role": "system", "content": "Answer in one word."},
    {"role": "user", "content": f"Here is my code.\n{CODE}"},
    {"role": "assistant", "content": "Thank you, I have read it."},
    {"role": "user", "content": QUESTION},
]


url = serving_fixture("--target", MODEL, "--budget", str(BUDGET))


def test_a_short_conversation_passes_whole(url: str) -> None:
    document = post(url, LONG[:1] + LONG[3:], max_tokens=8)
    assert document["choices"][0]["message"]["content"].strip()
    assert document["usage"]["winnow"]["original_tokens"] == document["usage"]["winnow"]["kept_tokens"]
    assert document["usage"]["prompt_tokens"] == document["usage"]["winnow"]["kept_tokens"]


def test_a_long_one_is_cut_to_the_budget_and_the_next_question_is_faster(url: str) -> None:
    started = time.perf_counter()
    first = post(url, LONG, max_tokens=8)
    first_s, started = time.perf_counter() - started, time.perf_counter()
    again = post(url, LONG, max_tokens=8)
    again_s = time.perf_counter() - started
    counts = first["usage"]["winnow"]
    # Beside the budget: the system's message, the question, fences, marks, the template.
    assert counts["kept_tokens"] < BUDGET + 250 < counts["original_tokens"] / 4
    # The prompt is the same. Its answer need not be: of a prompt in memory only the last token is evaluated, alone,
    # which rounds otherwise than in a batch (`llama/kv_cache.py`).
    assert again["usage"]["winnow"] == {**counts, "compression": "kept"}
    assert again["usage"]["prompt_tokens"] == first["usage"]["prompt_tokens"]
    assert again["choices"][0]["message"]["content"].strip()
    assert again_s < first_s


def test_openais_own_package_streams_from_it(url: str) -> None:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none") as client:
        assert [model.id for model in client.models.list()] == [MODEL]
        stream = client.chat.completions.create(
            model=MODEL, messages=LONG, max_tokens=8, stream=True, stream_options={"include_usage": True}
        )
        chunks = list(stream)
        with pytest.raises(openai.BadRequestError, match="n is not supported"):
            client.chat.completions.create(model=MODEL, messages=LONG, n=2)
        with pytest.raises(openai.NotFoundError, match="no model 'gpt-5'"):
            client.chat.completions.create(model="gpt-5", messages=LONG)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert chunks[-1].usage.completion_tokens == 8


def test_what_may_not_be_cut_and_does_not_fit_is_refused(url: str) -> None:
    long = [{"role": "user", "content": "why? " * 20_000}]
    answer = httpx.post(f"{url}/v1/chat/completions", json={"messages": long}, timeout=300)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "context_length_exceeded")


def test_a_client_that_leaves_makes_room_for_the_next(url: str) -> None:
    story = {"messages": [{"role": "user", "content": "Write a long story."}], "max_tokens": 4000, "stream": True}
    with httpx.stream("POST", f"{url}/v1/chat/completions", json=story, timeout=300) as answer:
        events = (line for line in answer.iter_lines() if line.startswith("data:"))
        next(events)
        begun = time.perf_counter()
        read = sum(1 for _ in zip(range(30), events, strict=False))
        started = time.perf_counter()
    post(url, LONG[:1] + LONG[3:], max_tokens=4)
    assert time.perf_counter() - started < 2000 * (started - begun) / read + 30, "half of what 4,000 tokens would take"


def test_one_winnow_can_be_the_target_of_another(url: str) -> None:
    target = HttpTarget.open(parse(url))
    assert (target.model, target.context_limit, target.context_known) == (MODEL, 8192, True)
    messages = [Message("user", "Say hello.")]
    answer = target.generate(Request(target.chat_prompt(messages), Sampling(max_tokens=8)))
    assert answer.text.strip()
    assert answer.decode_tokens <= 8


def test_told_to_end_it_does_in_the_middle_of_an_answer(smollm2: Path, tmp_path: Path) -> None:
    with serving(tmp_path, "--target", MODEL, WINNOW_HTTP_TOKEN="secret") as (url, process):
        assert httpx.get(f"{url}/health").status_code == 401
        story = {"messages": [{"role": "user", "content": "Write a long story."}], "max_tokens": 4000, "stream": True}
        headers = {"Authorization": "Bearer secret"}
        with httpx.stream("POST", f"{url}/v1/chat/completions", json=story, headers=headers, timeout=300) as answer:
            next(answer.iter_bytes())
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) is not None


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (["--http", "0.0.0.0:0"], 2, "WINNOW_HTTP_TOKEN"),
        (["--http", "127.0.0.1:0", "--tcp", "0"], 2, "exclude each other"),
        (["--tcp", "0.0.0.0:0"], 2, "other machines"),
        (["--http", "0", "--target", "nowhere"], 3, "nowhere"),
        (["--http", "0", "--target", "http://gpu.lan/v1"], 2, "plain http"),
    ],
)
def test_what_cannot_be_served_is_said_at_once(options: list[str], code: int, says: str, tmp_path: Path) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "WINNOW_HTTP_TOKEN"}
    done = subprocess.run(
        [sys.executable, "-m", "winnow_lsp", "serve", *options],
        env=environment | {"WINNOW_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert says in done.stderr


def test_the_right_code_is_kept(smollm2: Path, qwen_small: Path, tmp_path: Path) -> None:
    """What the target sees, shown by a server in its place; the default drafter scores."""
    from ..unit.targets.hostile import Hostile, large, served

    hostile = Hostile(models=large)
    options = ("--drafter", "qwen2.5-coder-0.5b", "--budget", str(BUDGET))
    with served(hostile), serving(tmp_path, "--target", hostile.url, *options) as (url, _):
        assert post(url, LONG, model=hostile.url.removeprefix("http://"))
    (talk,) = hostile.chats
    system, given, answered, question = talk.document["messages"]
    assert [system, answered, question] == [LONG[0], LONG[2], LONG[3]]
    assert textwrap.dedent(inspect.getsource(segments.cut)) in given["content"]
    assert "⋯" in given["content"]
    assert len(given["content"]) < len(CODE) / 4
