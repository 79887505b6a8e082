"""PyTorch's attention at the sizes of ours, where PyTorch is installed: SDPA, and FlexAttention's Triton kernel."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.device import Device
from winnow_cuda.ops.attention import BLOCK
from winnow_research.speed.figure import SpeedFigure, figure_of
from winnow_research.speed.timing import seconds_of


def _torch() -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError:
        return None


def sdpa(device: Device, tokens: int, length: int, shapes: tuple[tuple[int, int, int], ...]) -> Iterator[SpeedFigure]:
    """Causal attention inside segments of `length`, for shapes (head size, heads, KV heads)."""
    torch = _torch()
    if torch is None:
        return
    for dim, heads, kv in shapes:
        make = functools.partial(torch.randn, device="cuda", dtype=torch.float16)
        q = make(tokens // length, heads, length, dim)
        k, v = (make(tokens // length, kv, length, dim) for _ in range(2))
        attend = functools.partial(
            torch.nn.functional.scaled_dot_product_attention, q, k, v, is_causal=True, enable_gqa=True
        )
        size = f"{tokens} tokens, {heads} / {kv} heads of {dim}"
        flops = 4.0 * heads * dim * tokens * (length + 1) / 2
        yield figure_of("torch, SDPA", size, seconds_of(device, attend), flops, 0, None)


def flex_attention(device: Device, mask: NDArray[np.bool_], kv: int, dim: int) -> Iterator[SpeedFigure]:
    """Block-sparse attention over the blocks of `mask`, [heads, blocks, blocks]; only the diagonal ones are masked."""
    torch = _torch()
    if torch is None:
        return
    flex = importlib.import_module("torch.nn.attention.flex_attention")
    heads, blocks, _ = mask.shape
    diagonal = np.broadcast_to(np.eye(blocks, dtype=bool), mask.shape)
    block_mask = flex.BlockMask.from_kv_blocks(
        *_listed(torch, mask & diagonal), *_listed(torch, mask & ~diagonal), BLOCK_SIZE=BLOCK,
        mask_mod=lambda batch, head, query, key: query >= key,
    )  # fmt: skip
    tokens = blocks * BLOCK
    make = functools.partial(torch.randn, device="cuda", dtype=torch.float16)
    q, k, v = make(1, heads, tokens, dim), make(1, kv, tokens, dim), make(1, kv, tokens, dim)
    compiled = torch.compile(flex.flex_attention)
    seconds = seconds_of(device, lambda: compiled(q, k, v, block_mask=block_mask, enable_gqa=True))
    share = mask.sum() / (heads * blocks * (blocks + 1) / 2)
    size = f"{tokens} tokens, {heads} / {kv} heads of {dim}, {share:.0%} of blocks"
    executed = 4.0 * dim * BLOCK * BLOCK * float(mask.sum())
    yield figure_of("torch, FlexAttention", size, seconds, executed, 0, None)


def _listed(torch: Any, mask: NDArray[np.bool_]) -> tuple[Any, Any]:
    """How many key blocks a query block has and which come first: int32 [1, H, B] and [1, H, B, B]."""
    counts, order = mask.sum(-1).astype(np.int32), np.argsort(~mask, axis=-1, kind="stable").astype(np.int32)
    return torch.from_numpy(counts)[None].cuda(), torch.from_numpy(order)[None].cuda()
