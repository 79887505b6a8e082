"""Attention with integers: close to what it is without, and no row depends on what comes after it."""

import numpy as np
import pytest
from test_ops import normal, relative_error
from twins import segment_attention_numpy

from winnow_cuda.ops._integers import runs_here
from winnow_cuda.ops.int16_attention import int16_attention

pytestmark = pytest.mark.skipif(not runs_here(), reason="needs AVX2")

_NONE = np.empty((0, 2, 64), np.float32)


@pytest.mark.parametrize(("heads", "kv_heads", "dim"), [(14, 2, 64), (9, 3, 64), (12, 2, 128), (4, 4, 32)])
@pytest.mark.parametrize("lengths", [[1], [5, 1, 130], [300], [127, 128, 129]])
@pytest.mark.parametrize("prefix", [0, 1, 23])
def test_int16_attention(heads: int, kv_heads: int, dim: int, lengths: list[int], prefix: int) -> None:
    tokens = sum(lengths)
    q, k, v = normal(6, tokens, heads, dim), normal(7, tokens, kv_heads, dim), normal(8, tokens, kv_heads, dim)
    shared = normal(9, prefix, kv_heads, dim), normal(10, prefix, kv_heads, dim)
    offsets = np.cumsum([0, *lengths])
    found = int16_attention(q, k, v, offsets, *shared)
    assert relative_error(found, segment_attention_numpy(q, k, v, offsets, *shared)) < 1e-3


def test_it_cannot_see_the_future_or_other_segments() -> None:
    q, k, v = normal(11, 40, 2, 64), normal(12, 40, 2, 64), normal(13, 40, 2, 64)
    offsets = np.array([0, 15, 40])
    before = int16_attention(q, k, v, offsets, _NONE, _NONE)
    k[20:], v[20:] = 1e3, 1e3
    after = int16_attention(q, k, v, offsets, _NONE, _NONE)
    np.testing.assert_array_equal(before[:20], after[:20])
    assert (before[20:] != after[20:]).all()


def test_columns_and_values_of_any_size() -> None:
    q, k, v = normal(14, 200, 14, 64), normal(15, 200, 2, 64), normal(16, 200, 2, 64)
    k[:, :, 5] += 60  # as in Qwen2.5's keys, whose biases are large
    v *= 10.0 ** normal(17, 200, 1, 1)
    v[7] = 0
    offsets = np.array([0, 200])
    found = int16_attention(q, k, v, offsets, _NONE, _NONE)
    assert relative_error(found, segment_attention_numpy(q, k, v, offsets, _NONE, _NONE)) < 3e-3
    assert np.isfinite(found).all()


def test_weights_that_are_all_alike_or_all_at_one_key() -> None:
    v, offsets = normal(18, 1000, 1, 64), np.array([0, 1000])
    k, q = np.zeros((1000, 1, 64), np.float32), normal(19, 1000, 3, 64)
    means = np.cumsum(v, axis=0) / np.arange(1, 1001)[:, None, None]
    same = int16_attention(q, k, v, offsets, _NONE[:, :1], _NONE[:, :1])
    assert relative_error(same, means.repeat(3, axis=1)) < 2e-3
    k[0], q[:] = 50, 50
    one = int16_attention(q, k, v, offsets, _NONE[:, :1], _NONE[:, :1])
    assert relative_error(one, np.broadcast_to(v[0], q.shape)) < 1e-3


def test_the_largest_sums_do_not_overflow() -> None:
    q, k, v = (np.full((256, heads, 64), value, np.float32) for heads, value in ((2, 9.0), (1, -3.0), (1, 5.0)))
    found = int16_attention(q, k, v, np.array([0, 256]), _NONE[:, :1], _NONE[:, :1])
    np.testing.assert_allclose(found, 5.0, rtol=1e-4)
