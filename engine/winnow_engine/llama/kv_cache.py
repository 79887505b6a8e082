"""The tokens that the KV memory holds, so that the next prompt evaluates only what differs.

Reuse changes the shapes of batches and so, by rounding, llama.cpp's logits: by up to 0.8 where activations are
quantised (Q4 weights on a CPU). Answers differ from those of a fresh context only where two tokens are that close.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from winnow_engine.core import Progress, ProgressSink, Prompt, ignore
from winnow_engine.errors import TargetError
from winnow_engine.llama.context import LlamaContext
from winnow_engine.llama.draft_tree import ROOT, DraftTree


class KvCache:
    """The KV memory of a context. It always holds exactly `tokens`, whatever was aborted or failed."""

    def __init__(self, context: LlamaContext) -> None:
        self.context = context
        self.tokens = np.empty(0, np.int32)

    def reuse(self, prompt: Prompt) -> int:
        """Forget all that is no prefix of `prompt`, at least its last token. Returns how many tokens are held."""
        self.rewind(self.reusable(prompt))
        return len(self.tokens)

    def reusable(self, prompt: Prompt) -> int:
        """How many tokens of `prompt` `reuse` keeps."""
        return self.context.truncated(min(common_prefix(self.tokens, prompt), len(prompt) - 1))

    def restore(self, tokens: Prompt, state: NDArray[np.uint8]) -> bool:
        """Replace memory by `state`, which `LlamaContext.state` made of `tokens`. False, and empty, if that fails."""
        done = len(tokens) < self.context.n_ctx and self.context.restore(state)
        self.tokens = tokens if done else tokens[:0]
        return done

    def extend(self, tokens: NDArray[np.int32], *, want_logits: bool, following: int = 0) -> bool:
        """Evaluate up to `context.n_batch` tokens. False if aborted: the cache is as before, or shorter."""
        return self._extend(tokens, lambda: self.context.decode(tokens, want_logits=want_logits, following=following))

    def prefill(
        self,
        prompt: Prompt,
        progress: ProgressSink = ignore,
        at: Mapping[int, Callable[[], None]] = MappingProxyType({}),
    ) -> bool:
        """Evaluate the rest of `prompt`, of which `reuse` kept the start, with the last token's logits.

        `at` has calls by the number of tokens that they come behind. A batch ends there, so what follows is read in the
        same batches, with the same logits, whether these tokens were read or reused. False if aborted; then the cache
        holds a prefix of `prompt`.
        """
        started, first, total = time.perf_counter(), len(self.tokens), len(prompt)
        progress(Progress("prefill", 0, total - first, 0, total - first))
        while (start := len(self.tokens)) < total:
            if start in at:
                at[start]()
            end = min([start + self.context.n_batch, total, *(stop for stop in at if stop > start)])
            if not self.extend(prompt[start:end], want_logits=end == total, following=total - end):
                return False
            elapsed_s, read, left = time.perf_counter() - started, end - first, total - end
            left_s = elapsed_s * left / read + self.context.attention_s * left * (total - first) / 2
            progress(Progress("prefill", read, total - first, read, total - first, elapsed_s, left_s))
        return True

    def hold(self, tokens: Prompt) -> bool:
        """Hold exactly these tokens, with the last one's logits. False as `prefill`."""
        self.reuse(tokens)
        return self.prefill(tokens)

    def verify(self, token: int, tree: DraftTree) -> bool:
        """Evaluate `token` and `tree` as `decode_tree`; False as `extend`, else `keep` must come next."""
        one = np.array([token], np.int32)
        if not len(tree):
            return self.extend(one, want_logits=True)
        return self._extend(one, lambda: self.context.decode_tree(token, tree, len(self.tokens)))

    def keep(self, tree: DraftTree, path: Sequence[int]) -> None:
        """Hold the nodes of `path`, from the root of the tree just verified down, and forget the others."""
        if not len(tree):
            return
        start, length = len(self.tokens), len(self.tokens) + len(path)
        if not self.context.keep_branch(path[-1] if path else ROOT, start, length):
            self.rewind(0)
            raise TargetError("the target's memory cannot roll back what was drafted: set speculate to off")
        self.tokens = np.concatenate([self.tokens, np.array([tree.tokens[node] for node in path], np.int32)])

    def _extend(self, tokens: NDArray[np.int32], evaluate: Callable[[], bool]) -> bool:
        done = False
        try:
            done = evaluate()
        finally:
            if not done:
                self.rewind(len(self.tokens))
        if done:
            self.tokens = np.concatenate([self.tokens, tokens])
        return done

    def rewind(self, length: int) -> None:
        """Forget all but the first `length` tokens, or fewer: recurrent memory keeps few states, not one per token."""
        self.tokens = self.tokens[: self.context.truncate(length)]


def common_prefix(left: NDArray[np.int32], right: NDArray[np.int32]) -> int:
    """How many leading elements are equal."""
    length = min(len(left), len(right))
    differs = np.flatnonzero(left[:length] != right[:length])
    return int(differs[0]) if len(differs) else length
