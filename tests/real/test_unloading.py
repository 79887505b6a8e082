"""A target that is in memory only while it answers, on real weights."""

import gc
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.core import Cancellation, Sampling
from winnow_engine.errors import ModelNotFoundError
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.local.target import LlamaTarget

pytestmark = pytest.mark.real_weights

QUESTION = [Message("user", "Write the numbers from 1 to 30, one a line.")]


def parked(target: LlamaTarget) -> bool:
    return target._unloadable._session is None


def ask(target: LlamaTarget) -> Generation:
    return target.generate(Request(target.chat_prompt(QUESTION), Sampling(max_tokens=12)))


def test_parked_and_loaded_again_it_gives_the_same_answer_and_its_memory_back(qwen_small: Path) -> None:
    def mapped() -> bool:
        return any(qwen_small.name in one.path for one in psutil.Process().memory_maps())

    with closing(LlamaTarget.open(qwen_small)) as target:
        first = ask(target)
        assert (target.place, parked(target), mapped()) == ("cpu", False, True)
        assert ask(target).reused_tokens > 0
        target._submit(target._unloadable.unload).result()
        gc.collect()
        assert (parked(target), mapped()) == (True, False)
        again = ask(target)
        assert (again.text, again.reused_tokens, parked(target)) == (first.text, 0, False)


def test_on_demand_it_is_there_only_for_the_answer(smollm2: Path) -> None:
    with closing(LlamaTarget.open(smollm2)) as resident:
        expected = ask(resident).text
    with closing(LlamaTarget.open(smollm2, TargetOptions(place="on-demand"))) as target:
        assert (target.place, parked(target)) == ("on-demand", True)
        for _ in range(3):
            assert ask(target).text == expected
            assert parked(target)
        cancellation = Cancellation()
        cancellation.cancel()
        prompt = target.chat_prompt(QUESTION)
        assert target.generate(Request(prompt, Sampling(), cancellation=cancellation)).finish == "cancelled"
        assert parked(target)


def test_a_file_that_is_gone_when_it_is_needed_again_is_named(smollm2: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(smollm2.read_bytes())
    with closing(LlamaTarget.open(copy, TargetOptions(place="on-demand"))) as target:
        copy.unlink()
        with pytest.raises(ModelNotFoundError, match="copy"):
            ask(target)
