"""A draft: a few layers over the target's features, which guess a block of tokens in one pass.

The row of token i holds the features of token i and the embedding of token i + 1; its output guesses token i + 2. Rows
of learned vectors behind it guess the tokens after that, each seeing those before it (as in PARD, arXiv 2504.18583; the
features as in EAGLE-3). What one guess says of the next is a table of low rank, added to the next one's logits.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from winnow_engine.targets.drafts.block_file import BlockShape
from winnow_research.training.qwen2 import rotary, rotated


class DraftLayer(nn.Module):
    """A layer of Qwen3."""

    def __init__(self, shape: BlockShape) -> None:
        super().__init__()
        self._shape = shape
        inner, kv = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
        self.q, self.k, self.v = _matrix(inner, shape), _matrix(kv, shape), _matrix(kv, shape)
        self.output = nn.Parameter(torch.zeros(shape.width, inner))
        self.gate, self.up = _matrix(shape.ffn, shape), _matrix(shape.ffn, shape)
        self.down = nn.Parameter(torch.zeros(shape.width, shape.ffn))
        self.attn_norm, self.ffn_norm = _ones(shape.width), _ones(shape.width)
        self.q_norm, self.k_norm = _ones(shape.head_dim), _ones(shape.head_dim)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor) -> Tensor:
        """Rows [B, R, width]; `mask` [B, 1, R, R] says which rows each one sees."""
        y = self._normed(x, self.attn_norm)
        q, k, v = (self._heads(functional.linear(y, w.to(y.dtype))) for w in (self.q, self.k, self.v))
        q, k = rotated(self._normed(q, self.q_norm), cos, sin), rotated(self._normed(k, self.k_norm), cos, sin)
        times = self._shape.heads // self._shape.kv_heads
        k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + functional.linear(mixed.transpose(1, 2).flatten(2), self.output.to(x.dtype))
        y = self._normed(x, self.ffn_norm)
        y = functional.silu(functional.linear(y, self.gate.to(y.dtype))) * functional.linear(y, self.up.to(y.dtype))
        return x + functional.linear(y, self.down.to(y.dtype))

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], -1, self._shape.head_dim).transpose(1, 2)

    def _normed(self, x: Tensor, weight: Tensor) -> Tensor:
        return functional.rms_norm(x, x.shape[-1:], weight.to(x.dtype), self._shape.eps)


class DraftNetwork(nn.Module):
    """The whole draft. Its output matrix is the target's, for the draft's vocabulary."""

    def __init__(self, shape: BlockShape, head: Tensor, norm: Tensor) -> None:
        """`head` [vocabulary, width] is not trained. Its own norm begins with the target's, [width]."""
        super().__init__()
        self.shape = shape
        self.register_buffer("head", head, persistent=False)
        reads = len(shape.layers_read)
        fuse = torch.zeros(shape.width, reads * shape.width)
        fuse[:, -shape.width :] = torch.eye(shape.width)
        self.fuse = nn.Parameter(fuse)
        self.feature_norm = nn.Parameter(torch.ones(reads, shape.width))
        self.embedding_norm = _ones(shape.width)
        self.masks = nn.Parameter(0.5 * torch.randn(shape.block - 1, shape.width))
        self.layers = nn.ModuleList(DraftLayer(shape) for _ in range(shape.layers))
        self.output_norm = nn.Parameter(0.5 * norm.float())
        self.before = nn.Parameter(torch.zeros(shape.vocabulary + 1, shape.rank))
        self.after = nn.Parameter(0.05 * torch.randn(shape.vocabulary, shape.rank))

    def rows(self, features: Tensor, following: Tensor) -> Tensor:
        """The rows of tokens: features [B, T, reads, width], embeddings of the tokens behind them [B, T, width]."""
        eps = self.shape.eps
        normed = functional.rms_norm(features, features.shape[-1:], None, eps) * self.feature_norm.to(features.dtype)
        token = functional.rms_norm(following, following.shape[-1:], self.embedding_norm.to(following.dtype), eps)
        return functional.linear(normed.flatten(2), self.fuse.to(features.dtype)) + token

    def forward(self, context: Tensor, anchors: Tensor) -> tuple[Tensor, Tensor]:
        """Hidden states of all rows [B, T, width], and of the blocks behind `anchors` [B, A]: [B, A, block - 1, width].

        `anchors` are numbers of rows.
        """
        batch, length, width = context.shape
        count, places = anchors.shape[1], self.shape.block - 1
        masks = self.masks.to(context.dtype).expand(batch, count, -1, -1).reshape(batch, -1, width)
        x = torch.cat([context, masks], 1)
        device = context.device
        own = torch.arange(length, device=device).expand(batch, -1)
        step = torch.arange(1, places + 1, device=device)
        seen = torch.cat([own, anchors.repeat_interleave(places, 1)], 1)  # the last row of the text that a row sees
        order = torch.cat([torch.zeros_like(own), step.repeat(count).expand(batch, -1)], 1)
        group = torch.arange(count, device=device).repeat_interleave(places).expand(batch, -1)
        text = own[:, None] <= seen[..., None]
        block = (group[:, :, None] == group[:, None]) & (order[:, length:, None] >= order[:, None, length:])
        block = torch.cat([torch.zeros(batch, length, count * places, dtype=torch.bool, device=device), block], 1)
        mask = torch.cat([text, block], 2)[:, None]
        cos, sin = rotary(seen + order, self.shape.head_dim, self.shape.rope_base)
        for layer in self.layers:
            x = layer(x, cos, sin, mask)
        x = self._normed(x)
        return x[:, :length], x[:, length:].view(batch, count, places, width)

    def _normed(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, x.shape[-1:], self.output_norm.to(x.dtype), self.shape.eps)

    def logits(self, hidden: Tensor, before: Tensor) -> Tensor:
        """Logits [n, vocabulary] of hidden states [n, width] behind the draft's tokens `before` [n].

        The number behind the draft's last token stands for all that it lacks.
        """
        base = functional.linear(hidden, self.head)
        return base + functional.linear(self.before[before].to(base.dtype), self.after.to(base.dtype))


def _matrix(rows: int, shape: BlockShape) -> nn.Parameter:
    return nn.Parameter(torch.randn(rows, shape.width) * shape.width**-0.5)


def _ones(width: int) -> nn.Parameter:
    return nn.Parameter(torch.ones(width))
