"""Guesses of a small model with the target's vocabulary: its likeliest continuation, with runners-up as branches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from winnow_engine.config import TargetOptions
from winnow_engine.core import Prompt
from winnow_engine.errors import DraftError
from winnow_engine.llama.abort import AbortFlag
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.kv_cache import KvCache
from winnow_engine.llama.model import LlamaModel
from winnow_engine.llama.tree import NOTHING, ROOT, DraftTree
from winnow_engine.llama.vocabulary import Vocabulary

_WINDOW = 512
"""Tokens of the prompt's end that the draft model reads. Reading all of a long prompt would take it longer than the
answer takes the target."""
_ANSWER = 512  # tokens there is room for at first
_CHOICES = 4  # tokens at each depth
_PADDING = 128  # tokens: vocabularies of one family are padded to different sizes


class ModelDraft:
    """A draft model in its own context, whose memory keeps the guesses that turned out right."""

    def __init__(self, model: LlamaModel, options: TargetOptions) -> None:
        """Draft with `model`, which this closes."""
        self._model, self._options = model, options
        self._cache: KvCache | None = None
        self._tokens: list[int] = []
        self._abort = AbortFlag()
        self._begun = False

    def begin(self, prompt: Prompt, abort: AbortFlag) -> None:
        """Read the end of `prompt`, once the target's first token is shown."""
        self._tokens, self._begun = prompt[-_WINDOW:].tolist(), False
        self._abort = abort

    def propose(self, limit: int, least: float = 0.0) -> DraftTree:
        """The likeliest chain first, then the best of what stood beside it; by cumulative probability."""
        if not limit:
            return NOTHING
        cache = self._room(len(self._tokens) + limit)
        if not _evaluate(cache, np.array(self._tokens, np.int32)):
            return NOTHING
        return best_tree(guesses(cache.context.logits(), partial(_behind, cache), limit, least), limit)

    def accept(self, tokens: Sequence[int]) -> None:
        """The answer goes on."""
        first, self._begun = not self._begun, True
        self._tokens += tokens
        if first:  # here, because nobody times this
            _evaluate(self._room(len(self._tokens) + _ANSWER), np.array(self._tokens, np.int32))

    def close(self) -> None:
        """Free the context and the model."""
        if self._cache is not None:
            self._cache.context.close()
            self._cache = None
        self._model.close()

    def _room(self, tokens: int) -> KvCache:
        """The cache, in a larger context if `tokens` need one."""
        if self._cache is None or self._cache.context.n_ctx < tokens:
            if self._cache is not None:
                self._cache.context.close()
            self._cache = KvCache(LlamaContext(self._model, tokens + _ANSWER, self._options))
        self._cache.context.abort_with(self._abort)
        return self._cache


@dataclass(frozen=True, slots=True)
class Guess:
    """A token `depth` behind the answer. The likeliest one of its depth goes on the chain, the others beside it."""

    token: int
    worth: float
    depth: int
    on_chain: bool


def guesses(
    logits: NDArray[np.float32], behind: Callable[[int], NDArray[np.float32] | None], limit: int, least: float
) -> Iterator[Guess]:
    """The chain of likeliest tokens with the runners-up at each depth, until it is worth less than `least`.

    `behind` evaluates the next token of the chain: the logits behind it, or None if aborted.
    """
    worth = 1.0
    for depth in range(1, limit + 1):
        tokens, probabilities = likeliest(logits, _CHOICES)
        for rank, (token, probability) in enumerate(zip(tokens.tolist(), probabilities.tolist(), strict=True)):
            if worth * probability >= least and probability > 0:
                yield Guess(token, worth * probability, depth, rank == 0)
        worth *= float(probabilities[0])
        following = behind(int(tokens[0])) if worth >= least and depth < limit else None
        if following is None:
            return
        logits = following


def best_tree(guesses: Iterable[Guess], limit: int) -> DraftTree:
    """The best `limit` guesses; ties stay in order, so that a parent stands before its children."""
    best = sorted(guesses, key=lambda guess: -guess.worth)[:limit]
    chain = {guess.depth: node for node, guess in enumerate(best) if guess.on_chain}
    parents = tuple(chain.get(guess.depth - 1, ROOT) for guess in best)
    return DraftTree(tuple(guess.token for guess in best), parents, tuple(guess.worth for guess in best))


def _behind(cache: KvCache, token: int) -> NDArray[np.float32] | None:
    done = cache.extend(np.array([token], np.int32), want_logits=True)
    return cache.context.logits() if done else None


def likeliest(logits: NDArray[np.float32], choices: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The few likeliest tokens, best first, and their probabilities."""
    tokens = np.argpartition(logits, -choices)[-choices:]
    tokens = tokens[np.argsort(-logits[tokens], kind="stable")]
    weights = np.exp(logits - logits[tokens[0]])
    return tokens.astype(np.int32), weights[tokens] / weights.sum()


def _evaluate(cache: KvCache, tokens: NDArray[np.int32]) -> bool:
    """Bring the cache to exactly `tokens`, with the last one's logits; False if aborted."""
    step = cache.context.n_batch
    for start in range(cache.reuse(tokens), len(tokens), step):
        if not cache.extend(tokens[start : start + step], want_logits=start + step >= len(tokens)):
            return False
    return True


def check_vocabulary(draft: Vocabulary, target: Vocabulary, name: str) -> None:
    """Raise DraftError unless the model called `name` has the target's tokens. Sizes may differ by padding."""
    shared = min(draft.size, target.size)
    other = next((token for token in range(shared) if draft.spelling(token) != target.spelling(token)), None)
    if other is None and abs(draft.size - target.size) <= _PADDING:
        return
    what = (
        "sizes differ"
        if other is None
        else f"token {other} is {draft.spelling(other)!r}, not {target.spelling(other)!r}"
    )
    raise DraftError(
        f"{name} cannot draft for this target: their vocabularies differ ({what}). A smaller model of the target's own "
        "family fits, such as qwen2.5-coder-0.5b for qwen2.5-coder-1.5b"
    )
