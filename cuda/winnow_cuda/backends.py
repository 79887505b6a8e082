"""The encoder and scorer of this machine: the GPU's where a device can, the CPU's otherwise and after a failure."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from winnow_cuda.cpu.encoder import CpuEncoder
from winnow_cuda.cpu.scorer import CpuScorer, warm_encoder
from winnow_cuda.device import DeviceError, availability, open_device
from winnow_cuda.ops._int16 import runs_here
from winnow_cuda.shapes import (
    Batch,
    Encoded,
    Encoder,
    Float16,
    Float32,
    Int8,
    Int32,
    Int64,
    Keys,
    MatrixForm,
    RowEncoder,
    Scorer,
    Weights,
)

if TYPE_CHECKING:
    from winnow_cuda.gpu.encoder import GpuEncoder

B = TypeVar("B")
T = TypeVar("T")
Notify = Callable[[str], None]


def warm_up() -> None:
    """Have the CPU's ops compiled if they will run here: seconds on first use, then 0.25 s."""
    if not availability().usable:
        warm_encoder(pack=runs_here())


def matrix_form() -> MatrixForm:
    """The form that the encoder of this machine takes: one that the CPU can work with, which may take over."""
    return "packed" if runs_here() and not availability().usable else "float32"


def bare_matrix_form() -> MatrixForm:
    """The form that the bare encoder of this machine takes."""
    return "float16" if availability().usable else matrix_form()


def open_encoder(
    weights: Weights,
    prefix: Int32,
    opening: Batch | None,
    binaries: MutableMapping[str, bytes],
    notify: Notify,
    on_compile: Notify,
) -> Encoder:
    """The encoder for `weights` behind `prefix` on this machine. Questions begin with `opening`, if with anything.

    `binaries` keeps compiled GPU kernels between processes. Without them the first use takes some ten seconds longer;
    `on_compile` is called with the name of each kernel before it is compiled. `notify` is called with one sentence if
    the CPU takes over from the GPU, now or later.
    """
    if not availability().usable:
        return CpuEncoder(weights, prefix, opening)
    from winnow_cuda.gpu.encoder import supports

    refusal = supports(weights.shape)
    if refusal is not None:
        notify(f"the drafter runs on the CPU, because it has {refusal}")
        return CpuEncoder(weights, prefix, opening)

    def on_cpu() -> Encoder:
        return CpuEncoder(weights, prefix, opening)

    try:
        return SteadfastEncoder(_on_device(weights, prefix, binaries, on_compile), on_cpu, notify)
    except DeviceError as error:
        notify(given_up(error))
        return on_cpu()


def open_bare_encoder(weights: Weights, binaries: MutableMapping[str, bytes], on_compile: Notify) -> RowEncoder:
    """The encoder for supported `weights` without a prefix; DeviceError if the device fails."""
    nothing = np.empty(0, np.int32)
    return _on_device(weights, nothing, binaries, on_compile) if availability().usable else CpuEncoder(weights, nothing)


def _on_device(weights: Weights, prefix: Int32, binaries: MutableMapping[str, bytes], on_compile: Notify) -> GpuEncoder:
    from winnow_cuda.gpu.encoder import GpuEncoder

    device = open_device()
    device.binaries, device.on_compile = binaries, on_compile
    return GpuEncoder(device, weights, prefix)


def open_scorer(binaries: MutableMapping[str, bytes], notify: Notify, on_compile: Notify) -> Scorer:
    """The scorer of this machine; arguments as for `open_encoder`."""
    if not availability().usable:
        return CpuScorer()
    from winnow_cuda.gpu.scorer import GpuScorer

    device = open_device()
    device.binaries, device.on_compile = binaries, on_compile
    return SteadfastScorer(GpuScorer(device), CpuScorer, notify)


class Fallback(Generic[B]):
    """Holds the backend in use. `second` makes the other one; `notify` is called when that takes over."""

    def __init__(self, first: B, second: Callable[[], B], notify: Notify) -> None:
        self._backend, self._second, self._notify = first, second, notify
        self._failed = False

    def run(self, work: Callable[[B], T]) -> T:
        """Run `work` on the backend in use, and again on the second one if the first's device fails."""
        try:
            return work(self._backend)
        except DeviceError as error:
            if not self._failed:
                self._failed = True
                self._backend = self._second()
                self._notify(given_up(error))
        return work(self._backend)


def given_up(error: DeviceError) -> str:
    """The notice for the user when the CPU takes over."""
    return f"the drafter continues on the CPU, because the GPU failed ({error})"


class SteadfastEncoder:
    """An encoder that switches to the second one for good when the first one's device fails."""

    def __init__(self, first: Encoder, second: Callable[[], Encoder], notify: Notify) -> None:
        self._fallback = Fallback(first, second, notify)
        self.batch_tokens, self.parallel = first.batch_tokens, first.parallel

    def encode(
        self,
        batch: Batch,
        taps: frozenset[int] = frozenset(),
        between_layers: Callable[[], None] | None = None,
    ) -> Encoded:
        """As `Encoder.encode`."""
        return self._fallback.run(lambda encoder: encoder.encode(batch, taps, between_layers))

    def encode_keys(self, batch: Batch, runs: Int32, between_layers: Callable[[], None] | None = None) -> Keys:
        """As `Encoder.encode_keys`."""
        return self._fallback.run(lambda encoder: encoder.encode_keys(batch, runs, between_layers))


class SteadfastScorer:
    """A scorer that switches to the second one for good when the first one's device fails."""

    def __init__(self, first: Scorer, second: Callable[[], Scorer], notify: Notify) -> None:
        self._fallback = Fallback(first, second, notify)

    def maxsim(self, codes: Int8, scales: Float16, runs: Int64, queries: Float32, weights: Float32) -> Float32:
        """As `Scorer.maxsim`."""
        return self._fallback.run(lambda scorer: scorer.maxsim(codes, scales, runs, queries, weights))

    def unit_mass(self, codes: Int8, scales: Float16, offsets: Int64, queries: Float32) -> tuple[Float32, Float32]:
        """As `Scorer.unit_mass`."""
        return self._fallback.run(lambda scorer: scorer.unit_mass(codes, scales, offsets, queries))

    def unit_products(self, vectors: Float16, queries: Float32) -> Float32:
        """As `Scorer.unit_products`."""
        return self._fallback.run(lambda scorer: scorer.unit_products(vectors, queries))
