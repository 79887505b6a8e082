"""FlashPrefill's choice of blocks, on the lane simulator, against its NumPy twin and against theory."""

import numpy as np
import pytest
from arrays import normal_half as normal
from lanes import from_half, half, launch
from twins import block_scores_numpy, choose_blocks_numpy, mean_keys_numpy

from winnow_cuda.ops.attention import BLOCK
from winnow_cuda.ops.gpu.attention import scale_log2
from winnow_cuda.ops.gpu.flash_prefill import block_scores, choose_blocks, mean_keys
from winnow_cuda.shapes import BlockRule

SHAPES = [(128, 2, 1, 64), (300, 3, 3, 64), (2400, 2, 1, 128)]


def means_of(k: np.ndarray) -> np.ndarray:
    tokens, kv, dim = k.shape
    blocks = -(-tokens // BLOCK)
    means = np.full(kv * blocks * dim, np.nan, np.float16)
    launch(mean_keys(dim), (blocks, kv), half(k).reshape(-1).view(np.uint32), means.view(np.uint32), tokens, kv * dim)
    return means.reshape(kv, blocks, dim)


def scores_of(q: np.ndarray, means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    tokens, heads, dim = q.shape
    blocks = means.shape[1]
    high, total = np.zeros((heads, blocks, blocks), np.float32), np.zeros((heads, blocks, blocks), np.float32)
    launch(
        block_scores(dim), (blocks, heads), half(q), means.reshape(-1).view(np.uint32), high.reshape(-1),
        total.reshape(-1), tokens, heads * dim, heads // len(means), float(scale_log2(dim)),
    )  # fmt: skip
    return high, total


@pytest.mark.parametrize(("tokens", "heads", "kv", "dim"), SHAPES)
def test_mean_keys(tokens: int, heads: int, kv: int, dim: int) -> None:
    k = normal(1, tokens, kv, dim)
    np.testing.assert_allclose(from_half(means_of(k)), mean_keys_numpy(k), rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize(("tokens", "heads", "kv", "dim"), SHAPES)
def test_block_scores(tokens: int, heads: int, kv: int, dim: int) -> None:
    q, means = normal(2, tokens, heads, dim), half(normal(3, kv, -(-tokens // BLOCK), dim))
    for actual, expected in zip(scores_of(q, means), block_scores_numpy(q, from_half(means)), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("tokens", [384, 300])
def test_without_a_query_every_block_scores_its_rows(tokens: int) -> None:
    means = half(normal(4, 1, 3, 64))
    high, total = scores_of(np.zeros((tokens, 1, 64), np.float32), means)
    rows = np.minimum(tokens - BLOCK * np.arange(3), BLOCK)
    assert (high == 0).all()
    for m in range(3):
        np.testing.assert_array_equal(total[0, m, :m], rows[m])
        assert total[0, m, m] == rows[m] * (rows[m] + 1) / 2 / BLOCK


@pytest.mark.parametrize("blocks", [1, 9, 70])
@pytest.mark.parametrize("rule", [BlockRule(0.12), BlockRule(0.5, sink=0, window=1, last=0)])
def test_choose_blocks(blocks: int, rule: BlockRule) -> None:
    random = np.random.default_rng(5)
    high, total = (random.random((2, blocks, blocks), np.float32) * scale for scale in (6, 100))
    chosen, counts = np.full((2, blocks, blocks), -1, np.int32), np.full((2, blocks), -1, np.int32)
    launch(
        choose_blocks(), (blocks, 2), high, total, chosen.reshape(-1), counts.reshape(-1),
        rule.alpha, rule.sink, rule.window, rule.last,
    )  # fmt: skip
    expected = choose_blocks_numpy(high, total, rule)
    np.testing.assert_array_equal(counts, expected.sum(-1))
    for h, m in np.ndindex(2, blocks):
        np.testing.assert_array_equal(chosen[h, m, : counts[h, m]], np.flatnonzero(expected[h, m]))
