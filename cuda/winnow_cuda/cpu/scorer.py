"""Scores units by a workspace's cached keys, on the CPU."""

from __future__ import annotations

import numpy as np

from winnow_cuda.cpu.encoder import CpuEncoder
from winnow_cuda.ops.int16_products import packed_layer
from winnow_cuda.ops.scoring import maxsim, unit_mass, unit_products
from winnow_cuda.shapes import Float32, Int32, LayerWeights, PackedMatrix, TransformerShape, Weights

_WIDTH = 32
_SHAPE = TransformerShape(1, _WIDTH, 1, 1, _WIDTH, _WIDTH, 1e4, 1e-6, False)


class _Embedding:
    def __len__(self) -> int:
        return 1

    def rows(self, ids: Int32) -> Float32:
        return np.ones((len(ids), _WIDTH), np.float32)


def warm_encoder(*, pack: bool) -> None:
    """Compile an encoder's ops, packed or not, for read-only matrices, or read them from the cache."""
    vector, square = np.ones(_WIDTH, np.float32), np.ones((_WIDTH, _WIDTH), np.float32)
    layer = LayerWeights(
        vector, np.tile(square, (3, 1)), None, None, None, square, vector, np.tile(square, (2, 1)), square
    )
    layer = packed_layer(layer) if pack else layer
    for matrix in (layer.qkv, layer.attn_output, layer.gate_up, layer.ffn_down):
        for part in (matrix.codes, matrix.scales) if isinstance(matrix, PackedMatrix) else (matrix,):
            part.flags.writeable = False
    CpuEncoder(Weights(_SHAPE, _Embedding(), (layer,)), np.zeros(1, np.int32))


class CpuScorer:
    """The ops of the CPU behind the interface of a `Scorer`."""

    maxsim = staticmethod(maxsim)
    unit_mass = staticmethod(unit_mass)
    unit_products = staticmethod(unit_products)
