"""The scoring kernels, on the lane simulator, against their NumPy twins."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from arrays import normal
from lanes import launch
from simulated_device import SimulatedDevice
from twins import maxsim_numpy, unit_mass_numpy, unit_products_numpy

from winnow_cuda.backends import CpuScorer
from winnow_cuda.gpu.products import HeldMatrix
from winnow_cuda.gpu.scorer import GpuScorer
from winnow_cuda.ops.gpu import scoring as scoring_op
from winnow_cuda.ops.readout import quantise_keys
from winnow_cuda.shapes import Scorer, runs_between

UNIT_LENGTHS = [[1], [3, 1, 40], [0, 16, 0, 17, 9]]


def keys_of(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    codes, scales = quantise_keys(x)
    return codes, scales.astype(np.float16)


def head_keys_of(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """As a profile on heads keeps keys: their scales hold the norms too."""
    codes, scales = quantise_keys(x)
    return codes, (scales * np.linalg.norm(x, axis=1)).astype(np.float16)


@pytest.mark.parametrize("lengths", UNIT_LENGTHS)
@pytest.mark.parametrize("count", [1, 11, 40])
def test_maxsim(lengths: list[int], count: int) -> None:
    codes, scales = keys_of(normal(1, sum(lengths), 64))
    queries, weights = normal(2, count, 64), np.abs(normal(3, count))
    runs = runs_between(np.cumsum([0, *lengths]))[::-1]  # units may come in any order
    halves, shares = scoring_op.split_maxsim_queries(queries, weights)
    units, blocks = len(lengths), len(shares) // scoring_op.MAXSIM_QUERIES
    out = np.full((units, blocks), np.nan, np.float32)
    launch(
        scoring_op.maxsim(),
        (units, blocks),
        codes,
        scales.view(np.uint16),
        runs.astype(np.int32).reshape(-1),
        halves,
        shares,
        out.reshape(-1),
        units,
        len(shares),
    )
    filled = runs[:, 1] > runs[:, 0]
    expected = maxsim_numpy(codes, scales, runs, queries, weights)
    np.testing.assert_allclose(out.sum(1)[filled], expected[filled], rtol=1e-4, atol=1e-4)
    assert (out.sum(1)[~filled] < -1e20).all()


@pytest.mark.parametrize("lengths", UNIT_LENGTHS)
@pytest.mark.parametrize(("count", "dim"), [(1, 64), (17, 64), (5, 128)])
def test_unit_mass(lengths: list[int], count: int, dim: int) -> None:
    (codes, scales), queries = head_keys_of(normal(4, sum(lengths), dim) * 3), normal(5, count, dim) * 3
    offsets, (halves, factors) = np.cumsum([0, *lengths]), scoring_op.split_mass_queries(queries)
    runs = runs_between(offsets).astype(np.int32).reshape(-1)
    units, padded = len(lengths), len(factors)
    mass, peak = np.full((units, padded), np.nan, np.float32), np.full((units, padded), np.nan, np.float32)
    launch(
        scoring_op.unit_mass(dim), (units, padded // scoring_op.MASS_QUERIES), codes, scales.view(np.uint16), runs,
        halves, factors, mass.reshape(-1), peak.reshape(-1), padded,
    )  # fmt: skip
    for actual, expected in zip((mass, peak), unit_mass_numpy(codes, scales, offsets, queries), strict=True):
        np.testing.assert_allclose(actual[:, :count], expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("units", [1, 17])
@pytest.mark.parametrize("count", [1, 3])
def test_unit_products(units: int, count: int) -> None:
    vectors, queries = normal(6, units, 256).astype(np.float16), normal(7, count, 256)
    out = np.full((units, count), np.nan, np.float32)
    grid = -(-units // scoring_op.UNITS), count
    launch(scoring_op.unit_products(256), grid, vectors, queries, out.reshape(-1), units)
    np.testing.assert_allclose(out.T, unit_products_numpy(vectors, queries), rtol=1e-5, atol=1e-4)


def test_a_held_matrix_is_multiplied_unless_others_use_the_device() -> None:
    device, rows = SimulatedDevice((8, 6)), normal(14, 3, 256)
    held = HeldMatrix(device, VECTORS)
    np.testing.assert_allclose(held.product(rows), unit_products_numpy(VECTORS, rows), rtol=1e-5, atol=1e-4)
    with ThreadPoolExecutor(1) as other:
        other.submit(device.lock.acquire).result()
        assert held.product(rows) is None
        other.submit(device.lock.release).result()
    assert held.product(rows) is not None


LENGTHS = [3, 1, 0, 40, 2, 9, 30]
OFFSETS = np.cumsum([0, *LENGTHS])


def scores_of(scorer: Scorer) -> list[np.ndarray]:
    """What a scorer says of fixed units, asked by every op."""
    queries, weights = normal(9, 11, 64), np.abs(normal(10, 11))
    return [
        scorer.maxsim(*KEYS, runs_between(OFFSETS), queries, weights),
        scorer.maxsim(*KEYS, runs_between(OFFSETS)[4:0:-2], queries, weights),
        *scorer.unit_mass(*HEAD_KEYS, OFFSETS, queries),
        scorer.unit_products(VECTORS, normal(11, 2, 256)),
    ]


KEYS = keys_of(normal(8, sum(LENGTHS), 64))
HEAD_KEYS = head_keys_of(normal(12, sum(LENGTHS), 64))
VECTORS = normal(13, 6, 256).astype(np.float16)


def agree(scorer: Scorer) -> None:
    for actual, expected in zip(scores_of(scorer), scores_of(CpuScorer()), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-3)


def test_the_gpu_scores_as_the_cpu_does_and_uploads_keys_once() -> None:
    device = SimulatedDevice((8, 6))
    scorer = GpuScorer(device)
    agree(scorer)
    uploads, device.uploaded = device.uploaded, 0
    agree(scorer)
    assert device.uploaded == uploads - sum(array.nbytes for array in (*KEYS, *HEAD_KEYS, VECTORS))


def test_keys_the_device_cannot_hold_pass_through_it_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("winnow_cuda.gpu.scorer.PIECE_BYTES", 1200)
    device = SimulatedDevice((8, 6), limit=5000)
    agree(GpuScorer(device))
    assert device.launched.count("unit_mass") > 1


def test_keys_go_from_the_device_with_the_array_on_the_host() -> None:
    scorer, vectors = GpuScorer(SimulatedDevice((8, 6))), VECTORS.copy()
    scorer.unit_products(vectors, normal(11, 1, 256))
    assert len(scorer._held) == 1
    del vectors
    gc.collect()
    assert not scorer._held
