"""A drafter's weights on the device: matrices in float16, norms and biases in float32."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from winnow_cuda.device import Device, DeviceArray
from winnow_cuda.ops.elementwise import key_centre
from winnow_cuda.ops.gpu.gemm import interleave_gate_up
from winnow_cuda.shapes import Float32, LayerWeights, Matrix, TransformerShape, Weights, plain

_SLICE = 16384  # embedding rows decoded at once


@dataclass(frozen=True, slots=True)
class DeviceLayer:
    """One layer's weights on the device: matrices float16, the rest float32."""

    attn_norm: DeviceArray
    qkv: DeviceArray
    qkv_bias: DeviceArray | None
    key_centre: DeviceArray | None  # [kv_width], see `key_centre`
    q_norm: DeviceArray | None
    k_norm: DeviceArray | None
    attn_output: DeviceArray
    ffn_norm: DeviceArray
    gate_up: DeviceArray
    ffn_down: DeviceArray


def upload_layer(device: Device, layer: LayerWeights, shape: TransformerShape) -> DeviceLayer:
    """One layer's weights; gate and up interleaved for the product under SwiGLU. OutOfDeviceMemoryError."""

    def matrix(value: Matrix) -> DeviceArray:
        return device.upload(plain(value).astype(np.float16, copy=False))

    def vector(value: Float32) -> DeviceArray:
        return device.upload(np.asarray(value, np.float32))

    return DeviceLayer(
        vector(layer.attn_norm),
        matrix(layer.qkv),
        None if layer.qkv_bias is None else vector(layer.qkv_bias),
        None if layer.qkv_bias is None else vector(key_centre(layer.qkv_bias, shape)),
        None if layer.q_norm is None else vector(layer.q_norm),
        None if layer.k_norm is None else vector(layer.k_norm),
        matrix(layer.attn_output),
        vector(layer.ffn_norm),
        matrix(interleave_gate_up(plain(layer.gate_up))),
        matrix(layer.ffn_down),
    )


def upload_embedding(device: Device, weights: Weights) -> DeviceArray:
    """The whole table, float16 [vocabulary, width], decoded a slice at a time. OutOfDeviceMemoryError."""
    rows = len(weights.embedding)
    table = device.empty((rows, weights.shape.width), np.float16)
    for start in range(0, rows, _SLICE):
        ids = np.arange(start, min(rows, start + _SLICE), dtype=np.int32)
        device.write(table.rows(start, start + len(ids)), weights.embedding.rows(ids).astype(np.float16))
    return table
