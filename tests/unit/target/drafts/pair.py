"""A target with a draft that reads its layers, for tests of such drafts."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from winnow_engine.llama.model import Model
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.target.abort import AbortFlag
from winnow_engine.target.base import Prompt, Sampling
from winnow_engine.target.context import Context
from winnow_engine.target.decoding import Answer, decode
from winnow_engine.target.drafts.base import MOST_NODES, Draft, NoDraft
from winnow_engine.target.drafts.reading import ReadingDraft
from winnow_engine.target.kv import KvCache
from winnow_engine.target.options import TargetOptions
from winnow_engine.target.tree import ROOT, Tree

from .numpy_drafts import Array

OPTIONS = TargetOptions(n_threads=1, n_ubatch=32)
PROMPTS = int(os.environ.get("WINNOW_TEST_PROMPTS", "40"))
D = TypeVar("D", bound=ReadingDraft[Any])


class Pair(Generic[D]):
    """A target and a draft that reads its layers, as a session has them."""

    def __init__(self, target: Path, draft: Path, opened: Callable[..., D]) -> None:
        self.model = Model(target)
        self.vocabulary = Vocabulary(self.model)
        self.draft = opened(Model(draft), self.model, draft, OPTIONS)
        self.cache = KvCache(Context(self.model, 512, OPTIONS, MOST_NODES))

    def answer(
        self, draft: Draft, prompt: Prompt, tokens: int = 60, on_text: Callable[[str], None] = lambda _: None
    ) -> Answer:
        flag = AbortFlag()
        self.cache.context.abort_with(flag)
        self.prefill(prompt)
        answer = Answer(on_text)
        draft.begin(prompt, flag)
        decode(answer, self.cache, self.vocabulary, Sampling(max_tokens=tokens), draft)
        return answer

    def prefill(self, prompt: Prompt) -> None:
        for start in range(self.cache.reuse(prompt), len(prompt), 32):
            assert self.cache.extend(prompt[start : start + 32], want_logits=start + 32 >= len(prompt))

    def close(self) -> None:
        self.cache.context.close()
        self.draft.close()
        self.model.close()


class Oracle(NoDraft):
    """Drafts the known answer, now and then wrongly, beside a branch that is wrong."""

    def __init__(self, tokens: Sequence[int], seed: int) -> None:
        self._tokens, self._at = list(tokens), 0
        self._random = np.random.default_rng(seed)

    def propose(self, limit: int, least: float = 0.0) -> Tree:
        tokens, parents, parent = [], [], ROOT
        for token in self._tokens[self._at : self._at + int(self._random.integers(0, 6))]:
            right = token if self._random.random() < 0.8 else (token + 1) % 256
            tokens += [(token + 7) % 256, right]
            parents += [parent, parent]
            parent = len(tokens) - 1
        return Tree(tuple(tokens), tuple(parents), (1.0,) * len(tokens)).first(limit)

    def accept(self, tokens: Sequence[int]) -> None:
        self._at += len(tokens)


def assert_near(ours: Array, reference: Array) -> None:
    """Within 0.001, where the logits' standard deviation is above 2."""
    assert reference.std() > 2
    np.testing.assert_allclose(ours, reference, rtol=0, atol=1e-3)


def prompt(seed: int, length: int = 50) -> Prompt:
    return np.random.default_rng(seed).integers(0, 256, length).astype(np.int32)
