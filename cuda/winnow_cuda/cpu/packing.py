"""Packing of a layer's matrices for the products of processors with AVX2."""

from __future__ import annotations

from dataclasses import replace

from winnow_cuda.ops._int16 import packed
from winnow_cuda.ops.int16_products import packed_gate_up
from winnow_cuda.shapes import LayerWeights, plain

MATRICES = ("qkv", "attn_output", "gate_up", "ffn_down")
"""The fields of a layer that are packed, all or none."""


def packed_layer(layer: LayerWeights) -> LayerWeights:
    """A layer of float32 with its matrices packed."""
    return replace(
        layer,
        qkv=packed(plain(layer.qkv)),
        attn_output=packed(plain(layer.attn_output)),
        gate_up=packed_gate_up(plain(layer.gate_up)),
        ffn_down=packed(plain(layer.ffn_down)),
    )
