"""A target with a block draft, which reads its hidden states."""

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from winnow_engine.config import TargetOptions
from winnow_engine.core import Prompt, Sampling
from winnow_engine.llama.draft_tree import NOTHING
from winnow_engine.llama.model import LlamaModel
from winnow_engine.targets.base import Request
from winnow_engine.targets.drafts.base import NoDraft
from winnow_engine.targets.drafts.block import open_block
from winnow_engine.targets.local.chat_template import LocalPrompt
from winnow_engine.targets.local.target import LlamaTarget

from ..loaded import OPTIONS, PROMPTS, FlagInside, Loaded
from .numpy_drafts import Array

ANSWER = Sampling(max_tokens=60)


class Pair(Loaded):
    """A target and a draft that reads its hidden states. The draft is made first, to watch the target's context."""

    def __init__(self, target: Path, draft: Path) -> None:
        model = LlamaModel(target)
        self.draft = open_block(draft, model, OPTIONS)
        super().__init__(model)

    def close(self) -> None:
        self.cache.context.close()
        self.draft.close()
        self.model.close()


def assert_near(ours: Array, reference: Array) -> None:
    """Assert a difference within 0.001, where the logits' standard deviation is above 2."""
    assert reference.std() > 2
    np.testing.assert_allclose(ours, reference, rtol=0, atol=1e-3)


def prompt(seed: int, length: int = 50) -> Prompt:
    return np.random.default_rng(seed).integers(0, 256, length).astype(np.int32)


def stopped_inside(pair: Pair, text: Prompt) -> None:
    """Stop the draft inside its evaluation, with `text` in the target's memory."""
    stopped = FlagInside()
    stopped.set()
    pair.prefill(text)
    pair.draft.begin(text, stopped)
    assert pair.draft.propose(8) == NOTHING


def assert_same_answers(target: Path, draft: Path, **options: Any) -> None:
    """Two questions and a follow-up that needs a larger context, as a session asks them."""
    asked = [prompt(1), prompt(2), np.concatenate([prompt(2), np.tile(prompt(3, 200), 20)])[:3900]]
    said = {}
    for speculate in ("off", draft):
        own = TargetOptions(n_threads=1, speculate=speculate, **options)
        with closing(LlamaTarget.open(target, own)) as opened:
            said[speculate] = [opened.generate(Request(LocalPrompt(text), Sampling(max_tokens=30))) for text in asked]
    assert [answer.text for answer in said[draft]] == [answer.text for answer in said["off"]]
    assert {answer.draft for answer in said[draft]} == {draft.name}
    assert sum(answer.drafted_tokens for answer in said[draft]) > 0


def accepted_of_many(pair: Pair, tokens: int, drafted_a_round: int) -> int:
    """The guesses accepted over many answers, with drafts in every round. None differs from plain decoding."""
    accepted, sampling = 0, Sampling(max_tokens=tokens)
    for seed in range(PROMPTS):
        plain, answer = (pair.answer(draft, sampling, prompt(seed)) for draft in (NoDraft(), pair.draft))
        assert answer.tokens == plain.tokens
        assert answer.drafted > drafted_a_round * answer.rounds
        accepted += answer.accepted
    return accepted


def differs_where_batches_round_otherwise_alone(pair: Pair, text: Prompt) -> None:
    """Assert that real weights answer `text` as without the draft.

    Q4_1 weights on a CPU quantise activations: a batch of another size moves logits by up to 0.8.
    """
    plain = pair.answer(NoDraft(), Sampling(max_tokens=24), text).tokens
    drafted = pair.answer(pair.draft, Sampling(max_tokens=24), text)
    assert drafted.drafted > 4 * drafted.rounds
    same = next((i for i, both in enumerate(zip(plain, drafted.tokens, strict=True)) if both[0] != both[1]), None)
    if same is not None:
        pair.cache.rewind(0)
        pair.prefill(np.array([*text, *plain[:same]], np.int32))
        logits = pair.cache.context.logits()
        assert abs(logits[plain[same]] - logits[drafted.tokens[same]]) < 1
