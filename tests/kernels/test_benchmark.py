"""The benchmarks check what they time: on the lane simulator every figure's error is that of its arithmetic."""

import pytest
from simulated_device import SimulatedDevice

from winnow_research.speed.base import SpeedFigure
from winnow_research.speed.encoder_ops import EncoderOps
from winnow_research.speed.readout_ops import ReadoutOps


@pytest.fixture
def device() -> SimulatedDevice:
    return SimulatedDevice((8, 6))


def right(figures: list[SpeedFigure], device: SimulatedDevice) -> None:
    assert [figure.kernel for figure in figures if not figure.error < 1e-3] == []
    assert {figure.kernel for figure in figures} == set(device.launched)


def test_figures_of_the_encoders_ops_are_right(device: SimulatedDevice) -> None:
    ops = EncoderOps(device)
    figures = [
        *ops.gemm(64, 16, 64), ops.rms_norm(64, 64), ops.embedding(64, 64), ops.rope(64, 2, 1),
    ]  # fmt: skip
    right(figures, device)


def test_figures_of_the_readout_ops_are_right(device: SimulatedDevice) -> None:
    ops = ReadoutOps(device)
    figures = [
        ops.standardise(2048, 64), ops.quantise_keys(100), ops.pool_runs(256), ops.unit_products(9),
    ]  # fmt: skip
    right(figures, device)
