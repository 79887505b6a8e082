"""Real weights that begin each answer within a thought: SmolLM2 with a chat template like DeepSeek-R1's.

It was never taught to end a thought, so its limit always has to.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.core import Sampling
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Generation, Request, Target
from winnow_engine.targets.local.chat_template import CHATML
from winnow_engine.targets.local.target import LlamaTarget
from winnow_engine.targets.remote.address import parse
from winnow_engine.targets.remote.target import HttpTarget
from winnow_lsp.cli.main import main

from .served import serving

pytestmark = pytest.mark.real_weights

TEMPLATE = CHATML.removesuffix("{% endif %}") + "<think>\n{% endif %}"
CODE = ("-w", str(Path(__file__).parents[2] / "engine" / "winnow_engine" / "chat"), "--set", "files.include=calls.py")
QUESTION = "Which function separates what a model says from what it calls?"
ASKED = [Message("user", "Write the numbers from 1 to 30, one a line.")]
LIMIT, MOST = 40, 24


@pytest.fixture(scope="session")
def thinker(smollm2: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "thinker.gguf"
    script = [sys.executable, "-m", "gguf.scripts.gguf_new_metadata", "--chat-template", TEMPLATE]
    subprocess.run([*script, str(smollm2), str(path)], check=True, capture_output=True)
    return path


@pytest.fixture(scope="session")
def served(thinker: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("cache"), "--target", str(thinker)) as (url, _):
        yield url


def answered(target: Target, sampling: Sampling) -> tuple[Generation, str]:
    said, thought = list[str](), list[str]()
    prompt = target.chat_prompt(ASKED, thinking=sampling.thinking)
    answer = target.generate(Request(prompt, sampling, said.append, on_thought=thought.append))
    assert answer.text == "".join(said)
    return answer, "".join(thought)


def test_a_thought_ends_at_its_limit_and_drafts_change_nothing(thinker: Path) -> None:
    found = []
    for speculate in ("off", "lookup"):
        with closing(LlamaTarget.open(thinker, TargetOptions(speculate=speculate))) as target:
            answer, streamed = answered(target, Sampling(max_tokens=MOST, thinking_tokens=LIMIT))
        assert answer.thought is not None
        assert answer.thought.text == streamed
        assert answer.text.strip()
        assert "think" not in (answer.text + streamed).lower()
        assert f"{LIMIT} tokens of thinking" in answer.notices[0]
        assert LIMIT <= answer.thought.tokens < LIMIT + 12
        assert answer.decode_tokens - answer.thought.tokens == MOST or answer.finish == "eos"
        found.append((streamed, answer.text, answer.decode_tokens))
    assert found[0] == found[1]


def test_a_server_in_another_process_ends_the_thought_and_answers(served: str, thinker: Path) -> None:
    sampling = Sampling(max_tokens=MOST, thinking="on", thinking_tokens=LIMIT)
    answer, streamed = answered(HttpTarget.open(parse(f"{served}/v1")), sampling)
    with closing(LlamaTarget.open(thinker)) as target:
        expected, thought = answered(target, sampling)
    assert answer.thought is not None
    assert (streamed, answer.thought.text) == (thought, thought)
    # The pieces of a stream stand for tokens there: a few more or less.
    assert answer.text.startswith(expected.text[: len(expected.text) // 2])
    assert answer.finish == expected.finish
    quiet, nothing = answered(HttpTarget.open(parse(f"{served}/v1")), Sampling(max_tokens=MOST))
    assert (quiet.thought, nothing) == (None, "")


def test_the_command_shows_what_thinking_took_and_no_thought(
    thinker: Path, users_cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shorter = (LIMIT if default == Sampling.thinking_tokens else default for default in Sampling.__init__.__defaults__)
    monkeypatch.setattr(Sampling.__init__, "__defaults__", tuple(shorter))  # usually it takes 20 s
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(users_cache))
    models = ("--drafter", "smollm2-135m", "--target", str(thinker), "--no-server", "--budget", "200")
    asked = ("ask", QUESTION, *CODE, *models, "--set", f"maxTokens={MOST}")
    assert main([*asked, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["thinking"]["text"].strip()
    assert document["thinking"]["tokens"] >= LIMIT
    assert main(list(asked)) == 0
    shown = capsys.readouterr()
    told = re.search(r"thought for .*\(([\d,]+) tokens\)", shown.out)
    assert told is not None
    assert int(told[1].replace(",", "")) >= LIMIT  # by how much depends on the draft's last block
    assert document["thinking"]["text"] not in shown.out
    assert "tokens of thinking" in shown.err
