"""Trees from a model that guesses one token at a time: a chain of likeliest tokens, with runners-up as branches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from winnow_engine.llama.draft_tree import ROOT, DraftTree

_CHOICES = 4  # tokens at each depth


@dataclass(frozen=True, slots=True)
class Guess:
    """A token `depth` places behind the answer's last one.

    The likeliest token of each depth goes on the chain, the others stand beside it. `worth` is the probability that
    this token and all before it on the chain are right.
    """

    token: int
    worth: float
    depth: int
    on_chain: bool


def guess_chain(
    logits: NDArray[np.float32], behind: Callable[[int], NDArray[np.float32] | None], limit: int, least: float
) -> Iterator[Guess]:
    """Guess a chain of at most `limit` tokens with the runners-up at each depth, until it is worth less than `least`.

    `logits`, shape (vocabulary,), choose the first token. `behind` evaluates the chain's next token and gives the
    logits behind it, or None if aborted.
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
    """The tree of the `limit` guesses worth most. Ties stay in order, so that a parent stands before its children."""
    best = sorted(guesses, key=lambda guess: -guess.worth)[:limit]
    chain = {guess.depth: node for node, guess in enumerate(best) if guess.on_chain}
    parents = tuple(chain.get(guess.depth - 1, ROOT) for guess in best)
    return DraftTree(tuple(guess.token for guess in best), parents, tuple(guess.worth for guess in best))


def likeliest(logits: NDArray[np.float32], choices: int) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """The likeliest tokens, best first, and their probabilities: both of shape (choices,)."""
    tokens = np.argpartition(logits, -choices)[-choices:]
    tokens = tokens[np.argsort(-logits[tokens], kind="stable")]
    weights = np.exp(logits - logits[tokens[0]])
    return tokens.astype(np.int32), weights[tokens] / weights.sum()
