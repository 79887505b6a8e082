"""The target `auto` with real weights: of the 0.5B and the 1.5B, the larger one answers."""

from pathlib import Path

import pytest

from winnow_engine.config import ModelConfig, TargetOptions
from winnow_engine.core import Sampling
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Request
from winnow_engine.targets.opening import open_target


@pytest.mark.parametrize("drafter", ["qwen2.5-coder-0.5b", "smollm2-135m"])  # of two, this machine's speed decides
def test_the_larger_one_answers(
    drafter: str, smollm2: Path, qwen_small: Path, qwen_target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in (smollm2, qwen_small, qwen_target):
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.setenv("WINNOW_MODELS_DIR", str(tmp_path))
    monkeypatch.setenv("WINNOW_CACHE_DIR", str(tmp_path / "cache"))
    target = open_target(ModelConfig(drafter, patience_s=60), TargetOptions(speculate="off"))
    try:
        assert target.parameters == pytest.approx(1.78e9, rel=0.01)
        prompt = target.chat_prompt([Message("user", "What is 2 + 2? Say the number only.")])
        assert "4" in target.generate(Request(prompt, Sampling(max_tokens=8))).text
    finally:
        target.close()
