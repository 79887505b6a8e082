"""Guesses of a small model with the target's vocabulary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from winnow_engine.config import TargetOptions
from winnow_engine.core import Prompt
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.draft_tree import NOTHING, DraftTree, grow, likeliest
from winnow_engine.llama.kv_cache import KvCache
from winnow_engine.llama.model import LlamaModel
from winnow_engine.targets.drafts.base import Draft, FileMethod

_WINDOW = 512
"""Tokens of the prompt's end that the draft model reads. Reading all of a long prompt would take it longer than the
answer takes the target."""
_ANSWER = 512  # tokens there is room for at first
_CHOICES = 4  # tokens at each depth
_READ, _BESIDE = -1, -2  # in place of a token: what is read already, and a runner-up, behind which nothing is guessed


class SmallModelDraft(Draft):
    """A small model in its own context, whose memory keeps the guesses that turned out right."""

    def __init__(self, model: LlamaModel, options: TargetOptions) -> None:
        """Draft with `model`, which `close` closes."""
        self._model, self._options = model, options
        self._cache: KvCache | None = None
        self._tokens: list[int] = []
        self._abort = AbortFlag()

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Take the end of `prompt`, which is read for the first proposal."""
        self._tokens = prompt[-_WINDOW:].tolist()
        self._abort = abort

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        """The likeliest chain and the runners-up beside it, as many as are worth most."""
        cache = self._cache_for(len(self._tokens) + limit)
        if not cache.hold(np.array(self._tokens, np.int32)):
            return NOTHING

        def choices(behind: int) -> Iterator[tuple[int, float, int]]:
            """The likeliest tokens behind a token of the chain."""
            ids = np.array([behind], np.int32)
            if behind == _BESIDE or (behind != _READ and not cache.extend(ids, want_logits=True)):
                return
            tokens, chances = likeliest(cache.context.logits(), _CHOICES)
            for rank, (token, chance) in enumerate(zip(tokens.tolist(), chances.tolist(), strict=True)):
                yield token, chance, _BESIDE if rank else token

        return grow(_READ, choices, limit, least)

    def accept(self, tokens: Sequence[int]) -> None:
        """Append `tokens` to the answer."""
        self._tokens += tokens

    def close(self) -> None:
        """Free the context and the model."""
        if self._cache is not None:
            self._cache.context.close()
            self._cache = None
        self._model.close()

    def _cache_for(self, tokens: int) -> KvCache:
        """The cache, in a larger context if `tokens` need one."""
        if self._cache is None or self._cache.context.n_ctx < tokens:
            if self._cache is not None:
                self._cache.context.close()
            self._cache = KvCache(LlamaContext(self._model, tokens + _ANSWER, self._options))
        self._cache.context.abort_with(self._abort)
        return self._cache


METHOD = FileMethod(architecture=None, open=lambda file: SmallModelDraft(file.model, file.options))
