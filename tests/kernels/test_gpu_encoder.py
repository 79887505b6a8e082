"""The GPU encoder, kernels on the lane simulator, against the CPU encoder on the same weights."""

from dataclasses import replace

import numpy as np
import pytest
from arrays import error
from lanes import from_half, half
from simulated_device import SimulatedDevice

from winnow_cuda.cpu.encoder import CpuEncoder
from winnow_cuda.device import DeviceArray, OutOfDeviceMemoryError
from winnow_cuda.gpu.encoder import GpuEncoder
from winnow_cuda.shapes import Batch, Encoded, KeyHead, LayerWeights, Readout, TransformerShape, Weights

RTOL = 2e-3  # two layers of float16 products
QWEN2 = TransformerShape(2, 128, 4, 2, 64, 192, 1e6, 1e-6, False)
QWEN3 = TransformerShape(2, 128, 2, 1, 128, 128, 1e6, 1e-6, False)
LLAMA = TransformerShape(1, 192, 3, 3, 64, 128, 1e4, 1e-5, True)


class Table:
    """An embedding table whose values are float16."""

    def __init__(self, rows: np.ndarray) -> None:
        self._rows = from_half(half(rows))

    def __len__(self) -> int:
        return len(self._rows)

    def rows(self, ids: np.ndarray) -> np.ndarray:
        return self._rows[ids]


def weights_of(shape: TransformerShape, normed: bool, biased: bool) -> Weights:
    random = np.random.default_rng(0)

    def matrix(rows: int, columns: int) -> np.ndarray:
        return from_half(half(random.standard_normal((rows, columns), np.float32) * columns**-0.5))

    def vector(size: int) -> np.ndarray:
        return 1 + 0.1 * random.standard_normal(size, np.float32)

    qkv = shape.q_width + 2 * shape.kv_width
    layers = tuple(
        LayerWeights(
            vector(shape.width),
            matrix(qkv, shape.width),
            vector(qkv) if biased else None,
            vector(shape.head_dim) if normed else None,
            vector(shape.head_dim) if normed else None,
            matrix(shape.width, shape.q_width),
            vector(shape.width),
            matrix(2 * shape.ffn_width, shape.width),
            matrix(shape.width, shape.ffn_width),
        )
        for _ in range(shape.layers)
    )
    return Weights(shape, Table(random.standard_normal((50, shape.width), np.float32)), layers)


def readout_of(width: int) -> Readout:
    return Readout(head_of(64, width), head_of(257, width))


def head_of(columns: int, width: int) -> KeyHead:
    random = np.random.default_rng(columns)
    matrix, mean = (random.standard_normal(size, np.float32) for size in ((columns, width), width))
    return KeyHead(matrix, mean * 0.1, 0.5 + np.abs(random.standard_normal(width, np.float32)))


def batch_of(lengths: list[int]) -> Batch:
    ids = np.random.default_rng(1).integers(0, 50, sum(lengths)).astype(np.int32)
    positions = np.concatenate([np.arange(n, dtype=np.int32) + 5 for n in lengths])
    return Batch(ids, positions, np.cumsum([0, *lengths]))


def agree(actual: Encoded, expected: Encoded) -> None:
    assert error(actual.hidden, expected.hidden) < RTOL
    for layer in expected.queries:
        assert error(actual.queries[layer], expected.queries[layer]) < RTOL
        assert error(actual.keys[layer], expected.keys[layer]) < RTOL


PREFIX = np.array([3, 1, 4, 1, 5], np.int32)


@pytest.mark.parametrize(
    ("shape", "normed", "biased"), [(QWEN2, False, True), (QWEN3, True, False), (LLAMA, False, False)]
)
def test_gpu_encoder_agrees_with_the_cpu(shape: TransformerShape, normed: bool, biased: bool) -> None:
    weights, batch, taps = weights_of(shape, normed, biased), batch_of([7, 20]), frozenset({0})
    device = SimulatedDevice((8, 6))
    actual = GpuEncoder(device, weights, PREFIX).encode(batch, taps)
    agree(actual, CpuEncoder(weights, PREFIX).encode(batch, taps))
    assert "gemm_swiglu" in device.launched


def test_hopper_runs_its_own_kernels() -> None:
    weights, batch = weights_of(QWEN2, False, True), batch_of([3])
    device = SimulatedDevice((9, 0))
    agree(GpuEncoder(device, weights, PREFIX).encode(batch), CpuEncoder(weights, PREFIX).encode(batch))
    assert {"gemm_hopper_add", "segment_attention_hopper"} <= set(device.launched)


@pytest.mark.parametrize("capability", [(8, 6), (9, 0)])
def test_without_a_prefix_sequences_see_only_themselves(capability: tuple[int, int]) -> None:
    weights, batch, nothing = weights_of(QWEN2, False, True), batch_of([70, 3, 131]), np.empty(0, np.int32)
    agree(
        GpuEncoder(SimulatedDevice(capability), weights, nothing).encode(batch),
        CpuEncoder(weights, nothing).encode(batch),
    )


def scarce(weights: Weights, rows: int) -> GpuEncoder:
    """An encoder on a device on which activations of more rows do not fit."""
    device = SimulatedDevice((8, 6))
    encoder, plenty = GpuEncoder(device, weights, PREFIX), device.empty

    def empty(shape: tuple[int, ...], dtype: object) -> DeviceArray:
        if shape[0] > rows and shape[-1] == LLAMA.width:
            raise OutOfDeviceMemoryError("simulated")
        return plenty(shape, dtype)

    device.empty = empty  # type: ignore[method-assign]
    return encoder


def test_a_batch_that_does_not_fit_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    weights, batch = weights_of(LLAMA, False, False), batch_of([4, 3, 5])
    monkeypatch.setattr("winnow_cuda.gpu.encoder.LEAST_TOKENS", 5)
    agree(scarce(weights, 8).encode(batch), CpuEncoder(weights, PREFIX).encode(batch))


RUNS = np.array([[0, 3], [3, 4], [6, 200], [201, 203]], np.int32)


@pytest.mark.parametrize("capability", [(8, 6), (9, 0)])
def test_keys_agree_with_the_cpu(capability: tuple[int, int]) -> None:
    weights, batch = replace(weights_of(QWEN2, False, True), readout=readout_of(QWEN2.width)), batch_of([200, 5])
    device = SimulatedDevice(capability)
    keys_agree(GpuEncoder(device, weights, PREFIX), CpuEncoder(weights, PREFIX), batch)
    assert {"standardise", "quantise_keys", "pool_runs"} <= set(device.launched)


def keys_agree(gpu: GpuEncoder, cpu: CpuEncoder, batch: Batch) -> None:
    actual, expected = gpu.encode_keys(batch, RUNS), cpu.encode_keys(batch, RUNS)
    assert actual.codes.shape == (200, 64)
    wide = [keys.codes * keys.scales[:, None] for keys in (actual, expected)]
    assert error(*wide) < 1e-2  # codes may differ by one
    assert error(actual.sums, expected.sums) < RTOL


def test_keys_of_a_batch_that_does_not_fit_come_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = replace(weights_of(LLAMA, False, False), readout=readout_of(LLAMA.width))
    monkeypatch.setattr("winnow_cuda.gpu.encoder.LEAST_TOKENS", 5)
    keys_agree(scarce(weights, 200), CpuEncoder(weights, PREFIX), batch_of([200, 5]))


@pytest.mark.parametrize("capability", [(8, 6), (9, 0)])
def test_rows_are_read_as_on_the_cpu(capability: tuple[int, int]) -> None:
    weights, batch = replace(weights_of(QWEN2, False, True), rows=head_of(3, QWEN2.width)), batch_of([70, 5])
    rows_agree(GpuEncoder(SimulatedDevice(capability), weights, PREFIX), CpuEncoder(weights, PREFIX), batch)


def rows_agree(gpu: GpuEncoder, cpu: CpuEncoder, batch: Batch) -> None:
    actual, expected = gpu.encode_rows(batch), cpu.encode_rows(batch)
    assert actual.shape == (len(batch.ids), 3)
    assert error(actual, expected) < RTOL


def test_rows_of_a_batch_that_does_not_fit_are_read_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = replace(weights_of(LLAMA, False, False), rows=head_of(3, LLAMA.width))
    monkeypatch.setattr("winnow_cuda.gpu.encoder.LEAST_TOKENS", 5)
    rows_agree(scarce(weights, 8), CpuEncoder(weights, PREFIX), batch_of([4, 3, 5]))


def test_nothing_encodes_to_nothing() -> None:
    encoder = GpuEncoder(SimulatedDevice((8, 6)), weights_of(LLAMA, False, False), PREFIX)
    nothing = Batch(np.empty(0, np.int32), np.empty(0, np.int32), np.array([0]))
    encoded = encoder.encode(nothing, frozenset({0}))
    assert encoded.hidden.shape == (0, LLAMA.width)
    assert encoded.keys[0].shape == (0, LLAMA.kv_heads, LLAMA.head_dim)


def test_a_sequence_that_does_not_fit_is_an_error() -> None:
    encoder = GpuEncoder(SimulatedDevice((8, 6), limit=4 << 20), weights_of(LLAMA, False, False), PREFIX)
    with pytest.raises(OutOfDeviceMemoryError):
        encoder.encode(batch_of([9000]))


def test_what_between_layers_raises_ends_the_pass() -> None:
    encoder = GpuEncoder(SimulatedDevice((8, 6)), weights_of(LLAMA, False, False), PREFIX)

    def stop() -> None:
        raise KeyError("stop")

    with pytest.raises(KeyError):
        encoder.encode(batch_of([4]), between_layers=stop)
