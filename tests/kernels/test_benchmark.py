"""The benchmarks check what they time: on the lane simulator every figure's error is that of its arithmetic."""

import pytest
from simulated_device import SimulatedDevice

from winnow_research.kernels.kernels import Bench
from winnow_research.kernels.keys import KeyBench


@pytest.fixture
def device() -> SimulatedDevice:
    return SimulatedDevice((8, 6))


def test_figures_of_keys_and_scores_are_right(device: SimulatedDevice) -> None:
    bench = KeyBench(device)
    figures = [
        bench.standardise(2048, 64),
        bench.quantise_keys(100),
        bench.pool_runs(256),
        bench.maxsim(512),
        bench.unit_mass(512),
        bench.unit_products(9),
    ]
    assert [figure.kernel for figure in figures if not figure.error < 1e-3] == []
    assert {figure.kernel.split(",")[0] for figure in figures} == set(device.launched)


def test_figures_of_products_are_right(device: SimulatedDevice) -> None:
    for figure in Bench(device).products(64, 16, 64):
        assert figure.error < 1e-3, figure
