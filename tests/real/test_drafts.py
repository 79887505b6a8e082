"""Drafts on real weights: answers that quote code are the target's own, and take fewer evaluations."""

import textwrap
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from winnow_engine.config import TargetOptions
from winnow_engine.core import Sampling
from winnow_engine.errors import DraftError
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.draft_tree import ROOT, DraftTree, chain
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.prompting.messages import Message
from winnow_engine.targets.base import Generation, Request
from winnow_engine.targets.drafts.block import BlockDraft
from winnow_engine.targets.drafts.small_model import SmallModelDraft
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


def test_a_small_model_drafts_for_a_larger_one(qwen_small: Path, qwen_target: Path) -> None:
    asked, short = f"{CODE[-400:]}\n\nRepeat this code word for word.", Sampling(max_tokens=16)
    drafted, plain = (answer(qwen_target, draft, asked, short) for draft in (qwen_small, "off"))
    assert (drafted.draft, drafted.text) == (qwen_small.name, plain.text)


def test_auto_asks_the_draft_of_its_target(qwen_target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of text that stands nowhere before: then only a draft that was trained for the target can guess."""
    guessed: list[int] = []
    guess = BlockDraft._guess
    monkeypatch.setattr(BlockDraft, "_guess", lambda self, *how: guessed.append(1) or guess(self, *how))
    # No two tokens of this answer are nearly equally likely: which one wins would depend on when guesses were right.
    asked, short = "Write a C function that computes a factorial.", Sampling(max_tokens=60)
    plain, drafted = (answer(qwen_target, draft, asked, short) for draft in ("off", "auto"))
    assert drafted.text == plain.text
    assert guessed
    assert drafted.accepted_tokens > 5


def test_a_model_of_another_family_does_not_draft(smollm2: Path, qwen_small: Path) -> None:
    with pytest.raises(DraftError, match=r"SmolLM2.* cannot draft .* own family fits"):
        answer(qwen_small, smollm2)


def test_a_tree_holds_more_of_a_text_than_the_chain_of_as_many_tokens(smollm2: Path) -> None:
    """A text stands for the target: what follows in it is right."""
    with closing(SmallModelDraft(LlamaModel(smollm2), TargetOptions())) as draft:
        text = Vocabulary(LlamaModel(smollm2, vocabulary_only=True)).tokenize(CODE)
        assert len(text) > 250
        held = np.array([_held(draft, text, at) for at in range(40, 240, 10)])
    chain, tree = held.sum(axis=0)
    assert tree > chain > 0


def _held(draft: SmallModelDraft, text: Sequence[int], at: int, nodes: int = 8) -> tuple[int, int]:
    """How many of the tokens behind `at` the draft's likeliest chain has, and how many its tree of as many nodes."""
    draft.begin(np.array(text[:at], np.int32), AbortFlag())
    tree = draft.propose(nodes)
    return agreed(_likeliest_chain(draft, nodes), text[at:]), agreed(tree, text[at:])


def agreed(tree: DraftTree, tokens: Sequence[int]) -> int:
    """How many tokens of a tree, from the root down, continue a text."""
    node, path = tree.child(ROOT, tokens[0]), 0
    while node is not None:
        path += 1
        node = tree.child(node, tokens[path])
    return path


def _likeliest_chain(draft: SmallModelDraft, nodes: int) -> DraftTree:
    tokens: list[int] = []
    for _ in range(nodes):
        tokens += draft.propose(1).tokens
        draft.accept(tokens[-1:])
    return chain(tokens, [1.0] * nodes)
