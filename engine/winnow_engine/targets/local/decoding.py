"""The decode loop: propose, verify, show, until something ends the answer.

Every token of an answer is chosen from the target's own logits behind all tokens before it, drafted or not: the
likeliest token at temperature 0, else one drawn at random. A drafted node is kept where it is that choice. For a draft
that proposes its tokens without randomness this is speculative rejection sampling (arXiv 2211.17192): a token of
probability p is kept with probability p, and otherwise replaced by a draw from the rest. As many random numbers are
drawn as without a draft.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

from winnow_engine.core import Finish, Sampling, TextSink
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.kv_cache import KvCache
from winnow_engine.llama.tree import ROOT, DraftTree
from winnow_engine.llama.vocabulary import Vocabulary
from winnow_engine.targets.drafts.base import Draft
from winnow_engine.targets.local.sampler import Sampler
from winnow_engine.targets.local.text_stream import TextStream


@dataclass(slots=True)
class DecodedAnswer:
    """An answer as it grows.

    `tokens` includes the token that ends the answer. `first_token_at` is a `time.perf_counter` reading, None before the
    first token. `rounds` counts the evaluations after the prompt's, `drafted` the tokens proposed for these, and
    `accepted` the proposed tokens that the target chose too.
    """

    on_text: TextSink
    finish: Finish = "cancelled"
    tokens: list[int] = field(default_factory=list)
    first_token_at: float | None = None
    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    _shown: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text shown so far."""
        return "".join(self._shown)

    def add(self, token: int) -> None:
        """Record that `token` was chosen now."""
        self.first_token_at = self.first_token_at or time.perf_counter()
        self.tokens.append(token)

    def count_round(self, tree: DraftTree, path: Sequence[int]) -> None:
        """Record a round: the draft's `tree` and the nodes that were accepted."""
        self.rounds += 1
        self.drafted += len(tree)
        self.accepted += len(path)

    def show(self, text: str) -> None:
        """Pass `text` on, unless it is empty."""
        if text:
            self._shown.append(text)
            self.on_text(text)


def decode(answer: DecodedAnswer, cache: KvCache, vocabulary: Vocabulary, sampling: Sampling, draft: Draft) -> None:
    """Decode `answer` behind the prompt in `cache`.

    The cache's last evaluation must have asked for logits, and `draft` must have begun the answer. Afterwards `cache`
    holds all tokens but the last, and perhaps some drafted ones behind a stop string.
    """
    writer = _Writer(answer, vocabulary, sampling)
    with closing(Sampler(sampling)) as sampler:
        tokens = [sampler.sample(cache.context)]
        while writer.write(tokens):
            draft.accept(tokens)
            tree = draft.propose(_room(answer, cache, sampling))
            if not cache.verify(tokens[-1], tree):
                break
            path, tokens = _agreed(tree, cache.context, sampler, vocabulary)
            cache.keep(tree, path)
            answer.count_round(tree, path)
    writer.end()


def _room(answer: DecodedAnswer, cache: KvCache, sampling: Sampling) -> int:
    """How many drafted tokens fit the answer, memory and context, beside the one that comes in any case."""
    remaining = sampling.max_tokens - len(answer.tokens) - 1
    return max(0, min(remaining, cache.context.branches, cache.context.n_ctx - len(cache.tokens) - 1))


def _agreed(
    tree: DraftTree, context: LlamaContext, sampler: Sampler, vocabulary: Vocabulary
) -> tuple[list[int], list[int]]:
    """The nodes of `tree` that the target chooses too, from the root down, and the tokens it chooses: one more."""
    path: list[int] = []
    tokens = [sampler.sample(context, 0)]
    node = tree.child(ROOT, tokens[0])
    while node is not None and not vocabulary.is_end(tokens[-1]):
        path.append(node)
        tokens.append(sampler.sample(context, node + 1))
        node = tree.child(node, tokens[-1])
    return path, tokens


class _Writer:
    """Turns tokens into text, until one of them ends the answer."""

    def __init__(self, answer: DecodedAnswer, vocabulary: Vocabulary, sampling: Sampling) -> None:
        self._answer, self._vocabulary, self._sampling = answer, vocabulary, sampling
        self._stream = TextStream(sampling.stop)

    def write(self, tokens: Sequence[int]) -> bool:
        """Show the tokens up to the one that ends the answer. Returns whether the answer goes on."""
        return all(self._goes_on(token) for token in tokens)

    def end(self) -> None:
        """Show what was held back."""
        self._answer.show(self._stream.flush())

    def _goes_on(self, token: int) -> bool:
        self._answer.add(token)
        ended = self._vocabulary.is_end(token)
        if not ended:
            self._answer.show(self._stream.feed(self._vocabulary.piece(token)))
        full = len(self._answer.tokens) == self._sampling.max_tokens
        finish: Finish | None = "eos" if ended else "stop" if self._stream.stopped else "length" if full else None
        self._answer.finish = finish or self._answer.finish
        return finish is None
