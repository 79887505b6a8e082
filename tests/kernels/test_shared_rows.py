"""Rows that sequences share are computed once, and come out as if each had its own."""

import numpy as np
import pytest
from test_gpu_encoder import QWEN2, QWEN3, readout_of, weights_of

from winnow_cuda.cpu import encoder as encoder_module
from winnow_cuda.cpu.encoder import EVERY, CpuEncoder, shared_rows
from winnow_cuda.shapes import Batch, TransformerShape, Weights


def batch(*sequences: list[int], first: int = 5) -> Batch:
    lengths = [len(ids) for ids in sequences]
    positions = np.concatenate([np.arange(n, dtype=np.int32) + first for n in lengths])
    return Batch(np.concatenate(sequences).astype(np.int32), positions, np.cumsum([0, *lengths]))


def test_a_common_start_is_shared_with_the_sequence_before() -> None:
    rows, places = shared_rows(batch([1, 2, 3], [1, 2, 4, 5], [1, 2, 4], [2, 2, 4]))
    assert list(rows) == [0, 1, 2, 5, 6, 10, 11, 12]
    assert list(places) == [0, 1, 2, 0, 1, 3, 4, 0, 1, 3, 5, 6, 7]


@pytest.mark.parametrize("sequences", [([1, 2, 3],), ([1, 2], [2, 1]), ([1], [], [1])])
def test_where_nothing_is_shared_every_row_is_its_own(sequences: tuple[list[int], ...]) -> None:
    assert shared_rows(batch(*sequences)) == (EVERY, EVERY)


def test_equal_tokens_elsewhere_are_not_the_same_row() -> None:
    moved = Batch(np.ones(2, np.int32), np.array([0, 1], np.int32), np.array([0, 1, 2]))
    assert shared_rows(moved) == (EVERY, EVERY)


@pytest.mark.parametrize("shape", [QWEN2, QWEN3], ids=["qwen2", "qwen3"])
def test_the_encoder_gives_what_it_gives_without_sharing(
    shape: TransformerShape, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = weights_of(shape, normed=shape is QWEN3, biased=shape is QWEN2)
    weights = Weights(plain.shape, plain.embedding, plain.layers, readout_of(shape.width))
    encoder = CpuEncoder(weights, np.arange(4, dtype=np.int32))
    tiny, runs = batch([9, 8, 7, 1], [9, 8, 7, 2, 3], [9, 8, 4], [9, 8, 4]), np.array([[3, 4], [7, 9], [11, 12]])
    rows, _ = shared_rows(tiny)
    assert len(rows) == 7
    shared, keys = encoder.encode(tiny, frozenset({1})), encoder.encode_keys(tiny, runs.astype(np.int32))
    monkeypatch.setattr(encoder_module, "shared_rows", lambda _: (EVERY, EVERY))
    alone, own_keys = encoder.encode(tiny, frozenset({1})), encoder.encode_keys(tiny, runs.astype(np.int32))
    for found, expected in ((shared.hidden, alone.hidden), (shared.queries[1], alone.queries[1])):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(shared.keys[1], alone.keys[1], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(keys.sums, own_keys.sums, rtol=1e-4, atol=1e-4)
