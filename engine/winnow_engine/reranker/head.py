"""A reranker's score of a unit: the weighted average of its tokens' votes, the last token's, and its length.

With x̂ = (x / rms(x) − mu) / sd of a unit's N rows and the rows v, w and l of `votes`:

    score = Σ softplus(w·x̂ᵢ) (v·x̂ᵢ) / Σ softplus(w·x̂ᵢ) + l·x̂_N + length · ln(N / 100)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from winnow_cuda.shapes import Float32, Int64, KeyHead


@dataclass(frozen=True, slots=True)
class RerankerHead:
    """The head's weights: votes float32 [3, width], length [1], mu and sd [width]. ValueError for other shapes."""

    votes: Float32
    length: Float32
    mu: Float32
    sd: Float32

    def __post_init__(self) -> None:
        if self.mu.ndim != 1 or self.votes.shape != (3, self.width) or self.length.shape != (1,):
            raise ValueError("the tensors of its head have the wrong shapes")
        if self.sd.shape != self.mu.shape or not (self.sd > 0).all():
            raise ValueError("the deviations of its head are not above 0, one a column")

    @property
    def width(self) -> int:
        """The columns of the hidden states."""
        return len(self.mu)

    @property
    def rows(self) -> KeyHead:
        """The head of every row, with the columns v·x̂, w·x̂ and l·x̂."""
        return KeyHead(self.votes, self.mu, self.sd)

    def scores(self, read: Float32, starts: Int64, stops: Int64) -> Float32:
        """The scores of units, float32 [U], each with rows starts[u]:stops[u] of `read`, float32 [T, 3]."""
        votes, logits, last = read.astype(np.float64).T
        weights = np.logaddexp(0, logits)
        sums = np.pad(np.cumsum(np.stack([votes * weights, weights], axis=1), axis=0), ((1, 0), (0, 0)))
        votes_in, weights_in = (sums[stops] - sums[starts]).T
        lengths = np.log((stops - starts) / 100)
        return np.asarray(votes_in / weights_in + last[stops - 1] + self.length * lengths, np.float32)
