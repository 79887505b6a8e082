"""Every op against its NumPy twin, on odd shapes."""

import numpy as np
import pytest
from twins import (
    block_choices_numpy,
    maxsim_numpy,
    pool_runs_numpy,
    quantise_keys_numpy,
    repeated_suffix_numpy,
    rms_norm_numpy,
    rope_numpy,
    segment_attention_numpy,
    standardise_numpy,
    swiglu_numpy,
    unit_mass_numpy,
    unit_products_numpy,
)

from winnow_cuda.ops.attention import segment_attention
from winnow_cuda.ops.drafting import block_choices, repeated_suffix
from winnow_cuda.ops.elementwise import rms_norm, rope, rope_table, standardise, swiglu
from winnow_cuda.ops.readout import pool_runs, quantise_keys
from winnow_cuda.ops.scoring import maxsim, unit_mass, unit_products
from winnow_cuda.shapes import runs_between

RTOL = 2e-5  # float32 kernels against float64 twins


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def relative_error(actual: np.ndarray, expected: np.ndarray) -> float:
    wide, expected = actual.astype(np.float64), expected.astype(np.float64)
    return float(np.linalg.norm(wide - expected) / np.linalg.norm(expected))


@pytest.mark.parametrize("shape", [(1, 64), (7, 896), (3, 2, 64), (33, 100)])
def test_rms_norm(shape: tuple[int, ...]) -> None:
    x, weight = normal(0, *shape) * 30, normal(1, shape[-1])
    assert relative_error(rms_norm(x, weight, 1e-6), rms_norm_numpy(x, weight, 1e-6)) < RTOL


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 64), (5, 3, 128), (17, 14, 64)])
def test_rope(shape: tuple[int, ...], interleaved: bool) -> None:
    x = normal(2, *shape)
    cos, sin = rope_table(np.arange(shape[0], dtype=np.int32) + 2000, shape[2], 1e6)
    assert relative_error(rope(x, cos, sin, interleaved), rope_numpy(x, cos, sin, interleaved)) < RTOL


def test_rope_turns_scores_into_functions_of_distance() -> None:
    q, k = normal(3, 1, 1, 64), normal(4, 1, 1, 64)

    def score(at: int, to: int) -> float:
        turned = [
            rope(x, *rope_table(np.array([p], np.int32), 64, 1e4), interleaved=False) for x, p in ((q, at), (k, to))
        ]
        return float((turned[0] * turned[1]).sum())

    assert score(50, 20) == pytest.approx(score(1030, 1000), rel=1e-3)


@pytest.mark.parametrize("shape", [(1, 2), (3, 8), (9, 9728)])
def test_swiglu(shape: tuple[int, int]) -> None:
    x = normal(5, *shape) * 20
    assert relative_error(swiglu(x), swiglu_numpy(x)) < RTOL


def test_swiglu_at_extremes_is_finite() -> None:
    x = np.array([[-1e4, 1e4, 0.0, -100.0, 1.0, 2.0, 3.0, 4.0]], np.float32)
    np.testing.assert_allclose(swiglu(x), [[0.0, 2e4, 0.0, 0.0]], atol=1e-30)


@pytest.mark.parametrize(("heads", "kv_heads", "dim"), [(14, 2, 64), (9, 3, 64), (12, 2, 128), (4, 4, 32)])
@pytest.mark.parametrize("lengths", [[1], [5, 1, 130], [300], [127, 128, 129]])
@pytest.mark.parametrize("prefix", [0, 1, 23])
def test_segment_attention(heads: int, kv_heads: int, dim: int, lengths: list[int], prefix: int) -> None:
    tokens = sum(lengths)
    q, k, v = (normal(6, tokens, heads, dim), normal(7, tokens, kv_heads, dim), normal(8, tokens, kv_heads, dim))
    pk, pv = normal(9, prefix, kv_heads, dim), normal(10, prefix, kv_heads, dim)
    offsets = np.cumsum([0, *lengths])
    actual = segment_attention(q, k, v, offsets, pk, pv)
    assert relative_error(actual, segment_attention_numpy(q, k, v, offsets, pk, pv)) < RTOL


def test_segment_attention_cannot_see_the_future_or_other_segments() -> None:
    q, k, v = normal(11, 40, 2, 64), normal(12, 40, 2, 64), normal(13, 40, 2, 64)
    empty, offsets = np.empty((0, 2, 64), np.float32), np.array([0, 15, 40])
    before = segment_attention(q, k, v, offsets, empty, empty)
    k[20:], v[20:] = 1e3, 1e3
    after = segment_attention(q, k, v, offsets, empty, empty)
    np.testing.assert_array_equal(before[:20], after[:20])
    assert (before[20:] != after[20:]).all()


@pytest.mark.parametrize("shape", [(1, 1), (5, 64), (130, 7)])
def test_quantise_keys(shape: tuple[int, int]) -> None:
    x = normal(14, *shape) * 9
    x[0] = 0
    codes, scales = quantise_keys(x)
    expected_codes, expected_scales = quantise_keys_numpy(x)
    np.testing.assert_array_equal(codes, expected_codes)
    np.testing.assert_allclose(scales, expected_scales, rtol=1e-5)
    unit = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
    assert np.abs(codes * scales[:, None] - unit).max() <= scales.max() / 2 * 1.001


@pytest.mark.parametrize("shape", [(1, 64), (7, 896), (33, 100)])
def test_standardise(shape: tuple[int, int]) -> None:
    x, mean, deviation = normal(20, *shape) * 30, normal(21, shape[1]), 0.3 + np.abs(normal(22, shape[1]))
    assert relative_error(standardise(x, mean, deviation), standardise_numpy(x, mean, deviation)) < RTOL


@pytest.mark.parametrize("runs", [[(0, 1)], [(2, 2), (0, 5), (7, 8)], [(1, 9), (9, 40)]])
def test_pool_runs(runs: list[tuple[int, int]]) -> None:
    y, logits, borders = normal(23, 40, 7), normal(24, 40) * 20, np.array(runs, np.int32)
    y[4] = 0
    assert relative_error(pool_runs(y, logits, borders), pool_runs_numpy(y, logits, borders)) < RTOL


UNIT_LENGTHS = [[1], [3, 1, 8], [5000, 1, 4000, 9000], [0, 4, 0, 0, 9]]


@pytest.mark.parametrize("lengths", UNIT_LENGTHS)
def test_maxsim(lengths: list[int]) -> None:
    codes, wide = quantise_keys(normal(15, sum(lengths), 64))
    scales = wide.astype(np.float16)
    runs, queries = runs_between(np.cumsum([0, *lengths])), normal(16, 11, 64)
    weights = np.abs(normal(17, 11))
    for units in (runs, runs[::-2]):
        actual = maxsim(codes, scales, units, queries, weights)
        assert relative_error(actual, maxsim_numpy(codes, scales, units, queries, weights)) < RTOL


@pytest.mark.parametrize("lengths", UNIT_LENGTHS)
def test_unit_mass(lengths: list[int]) -> None:
    (codes, wide), queries = quantise_keys(normal(18, sum(lengths), 64) * 5), normal(19, 6, 64) * 5
    scales, offsets = (wide * 40).astype(np.float16), np.cumsum([0, *lengths])
    for actual, expected in zip(
        unit_mass(codes, scales, offsets, queries), unit_mass_numpy(codes, scales, offsets, queries), strict=True
    ):
        assert relative_error(actual, expected) < RTOL


def test_scoring_nothing_gives_no_scores() -> None:
    nothing = np.array([0])
    keys = np.empty((0, 64), np.int8), np.empty(0, np.float16)
    assert maxsim(*keys, runs_between(nothing), normal(1, 2, 64), np.ones(2)).shape == (0,)
    assert unit_mass(np.empty((0, 64), np.int8), np.empty(0, np.float16), nothing, normal(1, 2, 64))[0].shape == (0, 2)


@pytest.mark.parametrize("count", [1, 4])
def test_unit_products(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow_cuda.ops.scoring._UNITS_A_THREAD", 2)
    vectors, queries = normal(25, 5, 33).astype(np.float16), normal(26, count, 33)
    vectors[2], vectors[3, :2] = 0, (6e-8, -6e-8)  # nothing, and what float16 has below its normal numbers
    assert relative_error(unit_products(vectors, queries), unit_products_numpy(vectors, queries)) < RTOL


@pytest.mark.parametrize("least", [0.0, 0.02])
@pytest.mark.parametrize("shape", [(1, 7), (3, 1001), (5, 6), (4, 4)])
def test_block_choices(shape: tuple[int, int], least: float) -> None:
    places, tokens = shape
    logits, before, after = 3 * normal(40, *shape), normal(41, tokens + 1, 8), normal(42, tokens, 8)
    found, chances = block_choices(logits, before, after, tokens, 6, least)
    wanted, likely = block_choices_numpy(logits, before, after, tokens, 6, least)
    assert found.shape == (len(wanted), min(6, tokens))
    assert (len(wanted) < places) <= (least > 0)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_allclose(chances, likely, rtol=1e-4, atol=1e-6)


def test_block_choices_of_equal_logits_are_the_first_ones() -> None:
    table = np.zeros((9, 2), np.float32)
    found, chances = block_choices(np.zeros((1, 8), np.float32), table, table[1:], 0, 3, 0.0)
    assert found.tolist() == [[0, 1, 2]]
    np.testing.assert_allclose(chances[0, 0], 1 / 8, rtol=1e-6)
    found, _ = block_choices(np.full((1, 8), np.nan, np.float32), table, table[1:], 0, 3, 0.0)
    assert found.tolist() == [[0, 0, 0]]


@pytest.mark.parametrize("words", [2, 5])
def test_repeated_suffix(words: int) -> None:
    tokens = np.random.default_rng(50).integers(0, words, 400).tolist()
    sides = [
        (np.zeros(400, np.int32), np.zeros((2, 401), np.uint8), np.zeros(5, np.int32), find)
        for find in (repeated_suffix, repeated_suffix_numpy)
    ]
    for length, token in enumerate(tokens):
        found = [
            (*find(text, length, token, counts, 16, 4, places), places.tolist()) for text, counts, places, find in sides
        ]
        assert found[0] == found[1]
    np.testing.assert_array_equal(sides[0][0], tokens)
    np.testing.assert_array_equal(sides[0][1], sides[1][1])
