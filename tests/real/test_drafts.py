"""Drafts on real weights: answers that quote code are the target's own, and take fewer evaluations."""

import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.core import Sampling
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.drafts.block import BlockDraft
from winnow_engine.targets.local.target import LlamaTarget

pytestmark = pytest.mark.real_weights

CODE = Path(textwrap.__file__).read_text(encoding="utf-8")[-1500:]
QUOTE = f"{CODE}\n\nRepeat this code word for word, without comments of your own."


def answer(path: Path, draft: str | Path, text: str = QUOTE, sampling: Sampling | None = None) -> Generation:
    sampling = sampling or Sampling(max_tokens=60)
    with closing(LlamaTarget.open(path, TargetOptions(speculate=draft))) as target:
        prompt = target.chat_prompt([Message("user", text)])
        return target.generate(Request(prompt, sampling))


@pytest.fixture(scope="module")
def plain(qwen_small: Path) -> Generation:
    return answer(qwen_small, "off")


def test_a_quote_is_found_in_the_prompt(qwen_small: Path, plain: Generation) -> None:
    drafted = answer(qwen_small, "lookup")
    assert drafted.text == plain.text
    assert drafted.accepted_tokens > 20
    assert drafted.decode_tokens - 1 - drafted.accepted_tokens < (plain.decode_tokens - 1) / 2


def test_auto_asks_the_draft_of_its_target(qwen_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of text that stands nowhere before: then only a draft that was trained for the target can guess."""
    guessed: list[int] = []
    guess = BlockDraft._tree
    monkeypatch.setattr(BlockDraft, "_tree", lambda self, *how: guessed.append(1) or guess(self, *how))
    # No two tokens of this answer are nearly equally likely: which one wins would depend on when guesses were right.
    asked, short = "Write a C function that computes a factorial.", Sampling(max_tokens=60)
    plain, drafted = (answer(qwen_target, draft, asked, short) for draft in ("off", "auto"))
    assert drafted.text == plain.text
    assert guessed
    assert drafted.accepted_tokens > 5
