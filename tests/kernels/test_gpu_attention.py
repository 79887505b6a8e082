"""The attention kernels, on the lane simulator, against their NumPy twins."""

from collections.abc import Callable

import numpy as np
import pytest
from arrays import error
from arrays import normal_half as normal
from lanes import from_half, half, launch
from twins import segment_attention_numpy

from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.ops.gpu.attention import attention, query_tiles, scale_log2
from winnow_cuda.ops.gpu.attention_hopper import attention_hopper

RTOL = 7e-4  # float16 probabilities and results


def run(kernel: Kernel, qkv: np.ndarray, heads: int, kv: int, prefix: np.ndarray, tiles: np.ndarray) -> np.ndarray:
    """qkv [T, H + 2 KV, D] and prefix [P, H + 2 KV, D], packed as the encoder packs them."""
    tokens, _, dim = qkv.shape
    packed, shared = half(qkv).reshape(-1), half(np.concatenate([prefix, qkv[:1]])).reshape(-1)
    out = np.full(tokens * heads * dim, np.nan, np.float16)
    k, v = heads * dim, (heads + kv) * dim
    launch(
        kernel, (len(tiles), heads), packed, packed[k:], packed[v:], out.view(np.uint32), shared[k:], shared[v:],
        len(prefix), tiles, qkv.shape[1] * dim, heads * dim, heads // kv, float(scale_log2(dim)),
    )  # fmt: skip
    return from_half(out).reshape(tokens, heads, dim)


SHAPES = [(2, 1, 64), (2, 2, 128)]
BUILDERS = [attention, attention_hopper]


@pytest.mark.parametrize("build", BUILDERS)
@pytest.mark.parametrize(("heads", "kv", "dim"), SHAPES)
@pytest.mark.parametrize(("lengths", "prefix"), [([1], 0), ([70, 1, 130], 23), ([129], 64), ([40], 150)])
def test_segment_attention(
    build: Callable[..., Kernel], heads: int, kv: int, dim: int, lengths: list[int], prefix: int
) -> None:
    qkv, shared = normal(1, sum(lengths), heads + 2 * kv, dim), normal(2, prefix, heads + 2 * kv, dim)
    offsets = np.cumsum([0, *lengths])
    actual = run(build(dim), qkv, heads, kv, shared, query_tiles(offsets))
    q, k, v = np.split(qkv, [heads, heads + kv], axis=1)
    expected = segment_attention_numpy(q, k, v, offsets, shared[:, heads:-kv], shared[:, -kv:])
    assert error(actual, expected) < RTOL
