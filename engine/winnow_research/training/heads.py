"""The adapter's two heads in PyTorch, with the formulas of `encoder/adapter.py`, and the loss that trains them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from winnow_cuda.shapes import Int64

_EPS = 1e-6
_BLOCK = 16  # tokens; a unit's maximum is taken over whole blocks
_QUERY_ROWS = 2048  # at a time, so that there is never a whole [question tokens, workspace tokens] matrix
_FAR = -1e4

HEADS = {"maxsim": 64, "pool": 256}
"""The number of columns of each head."""


class Segments:
    """Consecutive runs of rows, one for each segment: lengths int64 [N], each at least 1."""

    def __init__(self, lengths: Int64, device: torch.device) -> None:
        self.count = len(lengths)
        starts = np.cumsum(lengths) - lengths
        blocks = (lengths + _BLOCK - 1) // _BLOCK
        owner = np.repeat(np.arange(self.count), blocks)
        within = np.arange(blocks.sum()) - np.repeat(np.cumsum(blocks) - blocks, blocks)
        first = starts[owner] + within * _BLOCK
        rows = np.minimum(first[:, None] + np.arange(_BLOCK), (starts + lengths - 1)[owner][:, None])
        self.of_row = torch.from_numpy(np.repeat(np.arange(self.count), lengths)).to(device)
        self.log_length = torch.from_numpy(np.log(lengths / 100).astype(np.float32)).to(device)
        self._rows = torch.from_numpy(rows.ravel()).to(device)
        self._owner = torch.from_numpy(owner).to(device)

    def sum(self, values: Tensor) -> Tensor:
        """Sums by segment: [rows, C] → [N, C]."""
        return values.new_zeros(self.count, *values.shape[1:]).index_add(0, self.of_row, values)

    def max(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Of values [Q, rows], the maximum in each segment and its row, each [Q, N]."""
        blocks = values.index_select(1, self._rows).view(len(values), -1, _BLOCK)
        best, where = blocks.max(-1)
        owner = self._owner.expand(len(values), -1)
        peak = values.new_full((len(values), self.count), -torch.inf).scatter_reduce(1, owner, best, "amax")
        row = self._rows.view(-1, _BLOCK).expand(len(values), -1, -1).gather(2, where[..., None])[..., 0]
        last = torch.iinfo(torch.int64).max
        candidates = torch.where(best == peak.gather(1, owner), row, last)
        return peak, torch.full_like(peak, last, dtype=torch.int64).scatter_reduce(1, owner, candidates, "amin")


class MaxSim(torch.autograd.Function):
    """From queries [Q, C] and keys [T, C], the largest dot product by query and segment, [Q, N].

    No [Q, T] matrix is kept for the backward pass. That pass scatters to distinct places, so it is deterministic.
    """

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, segments: Segments) -> Tensor:
        """Keeps the row of each maximum."""
        parts = [segments.max(some @ keys.T) for some in queries.split(_QUERY_ROWS)]
        rows = torch.cat([row for _, row in parts])
        ctx.save_for_backward(queries, keys, rows)
        return torch.cat([peak for peak, _ in parts])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        """The gradient, which reaches only the rows of the maxima."""
        queries, keys, rows = ctx.saved_tensors
        for_queries, for_keys = torch.empty_like(queries), torch.zeros_like(keys)
        for start in range(0, len(queries), _QUERY_ROWS):
            some = slice(start, start + _QUERY_ROWS)
            spread = keys.new_zeros(len(queries[some]), len(keys)).scatter_(1, rows[some], gradients[0][some])
            for_queries[some] = spread @ keys
            for_keys += spread.T @ queries[some]
        return for_queries, for_keys, None


class Standardised(nn.Module):
    """Standardises hidden states by column. `mu` and `sd` are measured once."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("mu", torch.zeros(width))
        self.register_buffer("sd", torch.ones(width))

    @torch.no_grad()
    def measure(self, hidden: Tensor) -> None:
        """Set `mu` and `sd` from hidden states [T, width]."""
        x = _by_rms(hidden)
        self.get_buffer("mu").copy_(x.mean(0))
        self.get_buffer("sd").copy_(x.std(0) + 1e-3)

    def normalised(self, hidden: Tensor) -> Tensor:
        """x̂, float32 [T, width]."""
        return (_by_rms(hidden) - self.get_buffer("mu")) / self.get_buffer("sd")


class TrainableHead(Standardised):
    """One head, with the tensors of the adapter's file. `mu` and `sd` are measured on hidden states of code."""

    def __init__(self, width: int, columns: int) -> None:
        super().__init__(width)
        start = torch.randn(columns, width) / math.sqrt(width)
        self.k, self.q = nn.Parameter(start.clone()), nn.Parameter(start.clone())
        self.kw, self.qw = nn.Parameter(torch.zeros(1, width)), nn.Parameter(torch.zeros(1, width))
        self.sc = nn.Parameter(torch.tensor([math.log(20.0), 0.0]))

    def keys(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Unit keys [T, columns] and pooling weights [T]."""
        x = self.normalised(hidden)
        return functional.normalize(x @ self.k.T, dim=-1), functional.softplus(x @ self.kw[0])

    def queries(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Unit queries [N, columns] and weights [N]."""
        x = self.normalised(hidden)
        return functional.normalize(x @ self.q.T, dim=-1), torch.sigmoid(x @ self.qw[0])

    def scores(self, similarity: Tensor, units: Segments) -> Tensor:
        """e^sc0 · similarity + sc1 · ln(tokens / 100), [questions, units]."""
        return self.sc[0].exp() * similarity + self.sc[1] * units.log_length


@dataclass(frozen=True)
class HiddenStates:
    """Hidden states [rows, width] of the units or of the questions in a batch. `parts` says which rows are whose."""

    hidden: Tensor
    parts: Segments


class TrainableHeads(nn.Module):
    """Both heads."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.maxsim, self.pool = (TrainableHead(width, HEADS[name]) for name in ("maxsim", "pool"))

    def measure(self, hidden: Tensor) -> None:
        """See `Standardised.measure`."""
        self.maxsim.measure(hidden)
        self.pool.measure(hidden)

    def forward(self, units: HiddenStates, questions: HiddenStates) -> tuple[Tensor, Tensor]:
        """The scores of maxsim and of pool, each float32 [questions, units]."""
        return self._maxsim(units, questions), self._pool(units, questions)

    def _maxsim(self, units: HiddenStates, questions: HiddenStates) -> Tensor:
        keys, _ = self.maxsim.keys(units.hidden)
        queries, weights = self.maxsim.queries(questions.hidden)
        best: Tensor = MaxSim.apply(queries, keys, units.parts)  # type: ignore[no-untyped-call]
        total = questions.parts.sum(weights[:, None])
        return self.maxsim.scores(questions.parts.sum(best * weights[:, None]) / total, units.parts)

    def _pool(self, units: HiddenStates, questions: HiddenStates) -> Tensor:
        keys, key_weights = self.pool.keys(units.hidden)
        queries, weights = self.pool.queries(questions.hidden)
        unit_vectors = functional.normalize(units.parts.sum(keys * key_weights[:, None]), dim=-1)
        question_vectors = functional.normalize(questions.parts.sum(queries * weights[:, None]), dim=-1)
        return self.pool.scores(question_vectors @ unit_vectors.T, units.parts)


def loss_of(scores: Tensor, positives: Tensor, ignored: Tensor) -> Tensor:
    """The mean over questions, and over the answers g of each, of −log(e^s_g / (e^s_g + Σ e^s of the non-answers)).

    `scores` are [questions, units]; `positives` and `ignored` are int64 [2, pairs] of (question, unit). Every question
    has an answer.
    """
    rows, columns = positives
    aside = torch.zeros_like(scores, dtype=torch.bool)
    aside[rows, columns] = True
    aside[ignored[0], ignored[1]] = True
    others = scores.masked_fill(aside, _FAR).logsumexp(1)
    each = functional.softplus(others[rows] - scores[rows, columns])
    answers = torch.bincount(rows, minlength=len(scores))
    return (each / answers[rows]).sum() / len(scores)


def _by_rms(hidden: Tensor) -> Tensor:
    x = hidden.float()
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + _EPS)
