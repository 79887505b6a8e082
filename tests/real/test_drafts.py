"""Drafts on real weights: answers that quote code are the target's own, and take fewer evaluations."""

import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from winnow_engine.core import Cancellation
from winnow_engine.errors import DraftError
from winnow_engine.target.base import Generation, Message, Sampling
from winnow_engine.target.llama import LlamaTarget
from winnow_engine.target.options import TargetOptions

pytestmark = pytest.mark.real_weights

CODE = Path(textwrap.__file__).read_text(encoding="utf-8")[-1500:]
QUOTE = f"{CODE}\n\nRepeat the code of `indent` word for word."


def answer(path: Path, draft: str | Path, text: str = QUOTE, sampling: Sampling | None = None) -> Generation:
    sampling = sampling or Sampling(max_tokens=60)
    with closing(LlamaTarget.open(path, TargetOptions(draft=draft))) as target:
        prompt = target.chat_prompt([Message("user", text)])
        return target.generate(prompt, sampling, Cancellation(), lambda _: None)


@pytest.fixture(scope="module")
def plain(qwen_small: Path) -> Generation:
    return answer(qwen_small, "off")


def test_a_quote_is_found_in_the_prompt(qwen_small: Path, plain: Generation) -> None:
    drafted = answer(qwen_small, "lookup")
    assert drafted.text == plain.text
    assert drafted.accepted_tokens > 20
    assert drafted.rounds == drafted.decode_tokens - 1 - drafted.accepted_tokens < plain.rounds / 2


def test_a_small_model_drafts_for_a_larger_one(qwen_small: Path, qwen_target: Path) -> None:
    short = Sampling(max_tokens=24)
    drafted = answer(qwen_target, qwen_small, sampling=short)
    assert (drafted.draft, drafted.text) == (qwen_small.name, answer(qwen_target, "off", sampling=short).text)


def test_a_model_of_another_family_does_not_draft(smollm2: Path, qwen_small: Path) -> None:
    with pytest.raises(DraftError, match=r"SmolLM2.* cannot draft .* own family fits"):
        answer(qwen_small, smollm2)
