"""The encoder of this machine: the GPU's where a device can, the CPU's otherwise and after a failure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from winnow_cuda.cpu.encoder import CpuEncoder
from winnow_cuda.device import Binaries, DeviceError, availability, open_device
from winnow_cuda.ops._integers import runs_here
from winnow_cuda.ops.int8_products import packed_layer
from winnow_cuda.shapes import (
    Encoder,
    Float32,
    Int32,
    LayerWeights,
    MatrixForm,
    PackedMatrix,
    RowEncoder,
    TransformerShape,
    Weights,
)

if TYPE_CHECKING:
    from winnow_cuda.gpu.encoder import GpuEncoder


_WIDTH = 32
_SHAPE = TransformerShape(1, _WIDTH, 1, 1, _WIDTH, _WIDTH, 1e4, 1e-6, False)


class _Embedding:
    def __len__(self) -> int:
        return 1

    def rows(self, ids: Int32) -> Float32:
        return np.ones((len(ids), _WIDTH), np.float32)


def warm_encoder(*, pack: bool) -> None:
    """Compile an encoder's ops, packed or not, for read-only matrices, or read them from the cache."""
    vector, square = np.ones(_WIDTH, np.float32), np.ones((_WIDTH, _WIDTH), np.float32)
    layer = LayerWeights(
        vector, np.tile(square, (3, 1)), None, None, None, square, vector, np.tile(square, (2, 1)), square
    )
    layer = packed_layer(layer) if pack else layer
    for matrix in (layer.qkv, layer.attn_output, layer.gate_up, layer.ffn_down):
        for part in (matrix.codes, matrix.scales) if isinstance(matrix, PackedMatrix) else (matrix,):
            part.flags.writeable = False
    CpuEncoder(Weights(_SHAPE, _Embedding(), (layer,)), np.zeros(1, np.int32))


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


def open_encoder(weights: Weights, prefix: Int32, binaries: Binaries, notify: Notify) -> Encoder:
    """The encoder for `weights` behind `prefix`.

    `binaries` keeps compiled GPU kernels (10 s), whose names are logged; `notify` is told that the CPU takes over.
    """

    def on_cpu() -> Encoder:
        return CpuEncoder(weights, prefix)

    if not availability().usable:
        return on_cpu()
    from winnow_cuda.gpu.encoder import supports

    if refusal := supports(weights.shape):
        notify(f"the drafter runs on the CPU, because it has {refusal}")
        return on_cpu()
    try:
        return cast(Encoder, Steadfast(_on_device(weights, prefix, binaries), on_cpu, notify))
    except DeviceError as error:
        notify(given_up(error))
        return on_cpu()


def open_bare_encoder(weights: Weights, binaries: Binaries) -> RowEncoder:
    """The encoder for supported `weights` without a prefix; DeviceError if the device fails."""
    nothing = np.empty(0, np.int32)
    return _on_device(weights, nothing, binaries) if availability().usable else CpuEncoder(weights, nothing)


def _on_device(weights: Weights, prefix: Int32, binaries: Binaries) -> GpuEncoder:
    from winnow_cuda.gpu.encoder import GpuEncoder

    device = open_device()
    device.binaries = binaries
    return GpuEncoder(device, weights, prefix)


def given_up(error: DeviceError) -> str:
    """The notice for the user when the CPU takes over."""
    return f"the drafter continues on the CPU, because the GPU failed ({error})"


class Steadfast:
    """An encoder: the first one, and for good the second one, once the first one's device fails."""

    def __init__(self, first: Any, second: Callable[[], Any], notify: Notify) -> None:
        self._backend, self._second, self._notify = first, second, notify
        self._failed = False
        for name in ("batch_tokens", "parallel"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return partial(self._run, name)

    def _run(self, name: str, *arguments: Any) -> Any:
        try:
            return getattr(self._backend, name)(*arguments)
        except DeviceError as error:
            if not self._failed:
                self._failed = True
                self._backend = self._second()
                self._notify(given_up(error))
        return getattr(self._backend, name)(*arguments)
