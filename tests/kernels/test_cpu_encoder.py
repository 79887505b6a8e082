"""The CPU encoder's ways for questions: packed weights, and all cores."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numba import config
from test_gpu_encoder import PREFIX, QWEN2, error, readout_of, weights_of

from winnow_cuda.cpu import encoder as module
from winnow_cuda.cpu.encoder import CpuEncoder
from winnow_cuda.ops._integers import runs_here
from winnow_cuda.ops.int8_products import packed_layer
from winnow_cuda.shapes import Batch, Float32, Matrix, Weights

QUESTIONS = [[5, 6, 7, 8, 9, 10, 11], [5, 6, 7, 8, 12], [5, 6, 7, 8, 9, 13, 14, 15, 16]]


def batch_of(sequences: Sequence[Sequence[int]]) -> Batch:
    positions = [np.arange(40, 40 + len(ids), dtype=np.int32) for ids in sequences]
    offsets = np.cumsum([0, *map(len, sequences)])
    return Batch(np.concatenate([np.array(ids, np.int32) for ids in sequences]), np.concatenate(positions), offsets)


@pytest.fixture
def plain() -> Weights:
    return replace(weights_of(QWEN2, False, True), readout=readout_of(QWEN2.width))


@pytest.fixture
def rounded(plain: Weights) -> Weights:
    """The same weights, packed."""
    if not runs_here():
        pytest.skip("needs AVX2")
    return replace(plain, layers=tuple(map(packed_layer, plain.layers)))


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The threads of each dense product."""
    seen, multiply = list[int](), module._product

    def product(rows: Float32, matrix: Matrix, threads: int) -> Float32:
        seen.append(threads)
        return multiply(rows, matrix, threads)

    monkeypatch.setattr(module, "_product", product)
    return seen


def test_packed_weights_give_nearly_the_same(rounded: Weights, plain: Weights) -> None:
    batch = batch_of(QUESTIONS)
    found, expected = (CpuEncoder(one, PREFIX).encode(batch).hidden for one in (rounded, plain))
    assert 0 < error(found, expected) < 0.02


def test_a_bias_that_pushes_keys_far_out_costs_packed_weights_nothing(rounded: Weights, plain: Weights) -> None:
    slowest = QWEN2.q_width + QWEN2.head_dim // 2 - 1  # the column of a key that RoPE turns least
    hidden = []
    for weights in (rounded, plain):
        biases = [one.qkv_bias.copy() for one in weights.layers if one.qkv_bias is not None]
        for bias in biases:
            bias[slowest] += 5000
        layers = tuple(replace(one, qkv_bias=bias) for one, bias in zip(weights.layers, biases, strict=True))
        hidden.append(CpuEncoder(replace(weights, layers=layers), PREFIX).encode(batch_of(QUESTIONS)).hidden)
    assert 0 < error(*hidden) < 0.02  # 0.06 where they are not centred


def test_packed_keys_do_not_depend_on_what_shares_their_batch(rounded: Weights) -> None:
    encoder = CpuEncoder(rounded, PREFIX)
    together = encoder.encode_keys(batch_of(QUESTIONS), np.array([[0, 7], [7, 12], [12, 19]], np.int32))
    alone = encoder.encode_keys(batch_of(QUESTIONS[2:]), np.array([[0, 7]], np.int32))
    np.testing.assert_array_equal(together.codes[12:], alone.codes)


def test_questions_have_all_cores_and_a_batch_of_files_one(
    plain: Weights, counted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", 3)
    encoder = CpuEncoder(plain, PREFIX)
    counted.clear()
    encoder.encode(batch_of(QUESTIONS))
    assert {*counted} == {3}
    counted.clear()
    encoder.encode_keys(batch_of(QUESTIONS), np.array([[0, 7]], np.int32))
    encoder.encode(batch_of([list(range(50)) * 11]))
    assert {*counted} == {1}
