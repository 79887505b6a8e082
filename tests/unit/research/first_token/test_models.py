"""Synthetic targets of each shape, made small, are loaded and answer."""

from dataclasses import replace
from pathlib import Path

import pytest

from winnow_engine.core import Sampling
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Request
from winnow_engine.targets.local.target import LlamaTarget
from winnow_research.first_token.synthetic import SHAPES, Shape, write_synthetic

from ...targets.conftest import write_llama


def small(name: str) -> Shape:
    """A published shape with fewer layers, heads and words, and narrow ones."""
    less = {"block_count": 4, "embedding_length": 256, "feed_forward_length": 512, "vocab_size": 512}
    less |= {"attention.head_count": 2, "attention.head_count_kv": 1}
    if "ssm.group_count" in SHAPES[name].numbers:
        less |= {"ssm.group_count": 1, "ssm.time_step_rank": 2, "ssm.inner_size": 256}
    if "expert_count" in SHAPES[name].numbers:
        less |= {"expert_feed_forward_length": 512}
    return replace(SHAPES[name], numbers={**SHAPES[name].numbers, **less})


@pytest.mark.parametrize("name", SHAPES)
def test_a_synthetic_target_runs_with_the_tokenizer_of_another(tmp_path: Path, name: str) -> None:
    tokenizer, file = write_llama(tmp_path / "tiny.gguf"), tmp_path / "made" / "synthetic.gguf"
    write_synthetic(small(name), tokenizer, file)
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    target = LlamaTarget.open(file)
    prompt = target.chat_prompt([Message("user", "How are you?")])
    generation = target.generate(Request(prompt, Sampling(max_tokens=1)))
    assert generation.prompt_tokens == len(prompt) > len("How are you?")
    assert generation.decode_tokens == 1
    target.close()
