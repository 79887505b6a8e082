"""What a closed target leaves in memory, on real weights."""

import gc
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from winnow_engine.core import Sampling
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.local.target import LlamaTarget

pytestmark = pytest.mark.real_weights

QUESTION = [Message("user", "Write the numbers from 1 to 30, one a line.")]


def ask(target: LlamaTarget) -> Generation:
    return target.generate(Request(target.chat_prompt(QUESTION), Sampling(max_tokens=12)))


def test_a_closed_target_gives_its_memory_back(qwen_small: Path) -> None:
    def mapped() -> bool:
        return any(qwen_small.name in one.path for one in psutil.Process().memory_maps())

    with closing(LlamaTarget.open(qwen_small)) as target:
        first = ask(target)
        assert (target.place, mapped()) == ("cpu", True)
        assert ask(target).reused_tokens > 0
    gc.collect()
    assert not mapped()
    with closing(LlamaTarget.open(qwen_small)) as again:
        answer = ask(again)
        assert (answer.text, answer.reused_tokens) == (first.text, 0)
