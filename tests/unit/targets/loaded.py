"""A loaded model to decode with, and what disturbs its decoding."""

import os
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from winnow_engine.config import TargetOptions
from winnow_engine.core import Prompt, Sampling
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.draft_tree import ROOT, DraftTree
from winnow_engine.llama.kv_cache import KvCache
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.targets.drafts.base import MOST_NODES, Draft, NoDraft
from winnow_engine.targets.local.decoding import DecodedAnswer, decode

OPTIONS = TargetOptions(n_threads=1, n_ubatch=32)
PROMPT = np.arange(40, 90, dtype=np.int32)
LONG = Sampling(max_tokens=80)
PROMPTS = int(os.environ.get("WINNOW_TEST_PROMPTS", "40"))


class Oracle(NoDraft):
    """Drafts the known answer, sometimes wrongly, among wrong branches, so that every path of the loop is taken."""

    def __init__(self, tokens: Sequence[int], seed: int) -> None:
        self._tokens, self._at = list(tokens), 0
        self._random = np.random.default_rng(seed)

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        depth = int(self._random.integers(0, 6))
        right, tokens, parents, parent = self._tokens[self._at : self._at + depth], [], [], ROOT
        for token in right:
            if self._random.random() < 0.2:
                token = (token + 1) % 256
            branches = [(token + 7) % 256, token] if self._random.random() < 0.5 else [token]
            tokens += branches
            parents += [parent] * len(branches)
            parent = len(tokens) - 1
        return DraftTree(tuple(tokens), tuple(parents), (1.0,) * len(tokens)).first(limit)

    def accept(self, tokens: Sequence[int]) -> None:
        self._at += len(tokens)


class Loaded:
    """A model with a context that drafts may branch in, as a session has them."""

    def __init__(self, model: LlamaModel) -> None:
        self.model = model
        self.vocabulary = Vocabulary(self.model)
        self.cache = KvCache(LlamaContext(self.model, 512, OPTIONS, MOST_NODES))

    def answer(
        self,
        draft: Draft,
        sampling: Sampling = LONG,
        prompt: Prompt = PROMPT,
        flag: AbortFlag | None = None,
        on_text: Callable[[str], None] = lambda _: None,
    ) -> DecodedAnswer:
        flag = flag or AbortFlag()
        self.cache.context.abort_with(flag)
        self.prefill(prompt)
        answer = DecodedAnswer(on_text)
        draft.begin(prompt, flag)
        decode(answer, self.cache, self.vocabulary, sampling, draft)
        return answer

    def prefill(self, prompt: Prompt) -> None:
        self.cache.reuse(prompt)
        assert self.cache.prefill(prompt)

    def close(self) -> None:
        self.cache.context.close()
        self.model.close()


class FlagInside(AbortFlag):
    """A flag that seems unset to Python, so that llama.cpp meets it inside the evaluation."""

    def is_set(self) -> bool:
        return False


def cancelled_at_random_moments(
    loaded: Loaded, plain: list[int], flag: type[AbortFlag], oracle: Callable[[int], Draft]
) -> Iterator[int]:
    """Stop many answers: each is then a beginning of `plain` that the cache holds. Returns how many tokens it holds."""
    random = np.random.default_rng(5)
    for attempt in range(PROMPTS):
        stop, after = flag(), int(random.integers(1, 60))
        shown: list[str] = []

        def show(text: str, shown: list[str] = shown, stop: AbortFlag = stop, after: int = after) -> None:
            shown.append(text)
            if len(shown) == after:
                stop.set()

        answer = loaded.answer(oracle(attempt), flag=stop, on_text=show)
        assert answer.finish == "cancelled"
        assert answer.tokens == plain[: len(answer.tokens)]
        assert loaded.cache.tokens.tolist() == [*PROMPT, *plain][: len(loaded.cache.tokens)]
        yield len(loaded.cache.tokens)
