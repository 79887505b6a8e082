"""Which encoder runs here: the GPU's where there is a device that can, the CPU's otherwise and after a failure."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping

from winnow_cuda.cpu import CpuEncoder
from winnow_cuda.device import DeviceError, availability, open_device
from winnow_cuda.fallback import Fallback, Notify, given_up
from winnow_cuda.shapes import Batch, Encoded, Encoder, Int32, Keys, Weights


def open_encoder(
    weights: Weights, prefix: Int32, binaries: MutableMapping[str, bytes], notify: Notify, on_compile: Notify
) -> Encoder:
    """The encoder for `weights` behind `prefix` on this machine.

    `binaries` keeps compiled GPU kernels between processes; without them the first use takes some ten seconds longer,
    of which `on_compile` tells: it gets the name of each kernel that is about to be compiled. `notify` gets one
    sentence if the GPU is given up for the CPU, now or later.
    """
    if not availability().usable:
        return CpuEncoder(weights, prefix)
    from winnow_cuda.blas import cublas
    from winnow_cuda.gpu import GpuEncoder, supports

    refusal = supports(weights.shape)
    if refusal is not None:
        notify(f"the drafter runs on the CPU, because it has {refusal}")
        return CpuEncoder(weights, prefix)

    def on_cpu() -> Encoder:
        return CpuEncoder(weights, prefix)

    device = open_device()
    device.binaries, device.on_compile = binaries, on_compile
    try:
        return Steadfast(GpuEncoder(device, weights, prefix, cublas(device)), on_cpu, notify)
    except DeviceError as error:
        notify(given_up(error))
        return on_cpu()


class Steadfast:
    """An encoder that, once the first fails for its device's sake, goes over to the second for good."""

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
