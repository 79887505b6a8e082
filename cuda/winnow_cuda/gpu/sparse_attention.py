"""FlashPrefill over one long prompt: mean keys, block scores, the choice of blocks, and block-sparse attention."""

from __future__ import annotations

import numpy as np

from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.device import Device, DeviceArray
from winnow_cuda.ops.attention import BLOCK
from winnow_cuda.ops.gpu.attention import attention, query_tiles, scale_log2
from winnow_cuda.ops.gpu.attention_hopper import attention_hopper
from winnow_cuda.ops.gpu.flash_prefill import block_scores, choose_blocks, mean_keys
from winnow_cuda.shapes import BlockRule, TransformerShape


class SparseAttention:
    """The attention of every layer over one prompt of `tokens` tokens. Holds the memory of the block scores."""

    def __init__(self, device: Device, shape: TransformerShape, tokens: int, rule: BlockRule) -> None:
        """OutOfDeviceMemoryError if the scores, 12 bytes per head and pair of blocks, do not fit."""
        blocks = -(-tokens // BLOCK)
        self._device, self._shape, self._tokens, self._blocks, self._rule = device, shape, tokens, blocks, rule
        # Scores of different queries are compared, which a centre of the keys would move by different amounts.
        self.centre = device.upload(np.zeros(shape.kv_width, np.float32))
        pairs = (shape.heads, blocks, blocks)
        self._means = device.empty((shape.kv_heads, blocks, shape.head_dim), np.float16)
        self._high, self._total = device.empty(pairs, np.float32), device.empty(pairs, np.float32)
        self._chosen, self._counts = device.empty(pairs, np.int32), device.empty(pairs[:2], np.int32)
        tiles = query_tiles(np.array([0, tokens]))
        self._tiles = device.upload(tiles[np.argsort(tiles[:, 0])])  # block m of the scores is tile m

    def attend(self, qkv: DeviceArray, out: DeviceArray) -> None:
        """qkv float16 [T, (H + 2 HK) D], rotated → out float16 [T, H D]."""
        device, shape, blocks, row = self._device, self._shape, self._blocks, qkv.shape[1]
        keys, values = qkv.offset(shape.q_width), qkv.offset(shape.q_width + shape.kv_width)
        scale, by_head, tokens = scale_log2(shape.head_dim), (blocks, shape.heads), self._tokens
        device.launch(mean_keys(shape.head_dim), (blocks, shape.kv_heads), keys, self._means, tokens, row)
        device.launch(
            block_scores(shape.head_dim), by_head, qkv, self._means, self._high, self._total, tokens, row, shape.group,
            scale,
        )  # fmt: skip
        device.launch(
            choose_blocks(), by_head, self._high, self._total, self._chosen, self._counts, self._rule.alpha,
            self._rule.sink, self._rule.window, self._rule.last,
        )  # fmt: skip
        device.launch(
            attention_for(device.capability, shape.head_dim, sparse=True), by_head, qkv, keys, values, out, qkv, qkv,
            0, self._tiles, self._chosen, self._counts, blocks, row, shape.q_width, shape.group, scale,
        )  # fmt: skip


def attention_for(capability: tuple[int, int], head_dim: int, *, sparse: bool) -> Kernel:
    """The kernel of attention for a device, over chosen blocks or all."""
    return (attention_hopper if capability == (9, 0) else attention)(head_dim, sparse)
