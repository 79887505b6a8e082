"""The GPU encoder: a drafter's first layers on a CUDA device, weights resident in float16, the residual in float32.

A layer is seven launches: norm, projections, rotation, attention, output product onto the residual, norm, gate and up
under SwiGLU, down product onto the residual. Sequences of many files go through one launch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.device import Device, DeviceArray, OutOfDeviceMemoryError
from winnow_cuda.gpu.products import Products
from winnow_cuda.gpu.readout import DeviceHead, DeviceReadout, joined_keys
from winnow_cuda.gpu.weights import DeviceLayer, upload_embedding, upload_layer
from winnow_cuda.ops.elementwise import rope_table
from winnow_cuda.ops.gpu.attention import attention, query_tiles, scale_log2
from winnow_cuda.ops.gpu.attention_hopper import attention_hopper
from winnow_cuda.ops.gpu.elementwise import ROWS, THREADS, embedding, rms_norm, rope
from winnow_cuda.shapes import Batch, Encoded, Float32, Int32, Keys, TransformerShape, Weights

BATCH_TOKENS = 32768  # a twentieth of a second on a large card; 0.7 GB of activations for a 0.5B drafter
LEAST_TOKENS = 2048
_HALF = np.float16

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Workspace:
    """Activations of at most `tokens` tokens, reused by every layer and batch."""

    tokens: int
    x: DeviceArray  # float32 [T, width], the residual stream
    normed: DeviceArray  # float16 [T, width]
    qkv: DeviceArray  # float16 [T, q_width + 2 kv_width]
    mixed: DeviceArray  # float16 [T, q_width]
    activated: DeviceArray  # float16 [T, ffn_width]


@dataclass(frozen=True, slots=True)
class _Run:
    """One batch on the device."""

    tokens: int
    positions: DeviceArray
    tiles: DeviceArray
    prefix_rows: int


class GpuEncoder:
    """Runs `weights` behind a fixed prefix of token ids on one device: as `CpuEncoder`, but in float16."""

    batch_tokens = BATCH_TOKENS
    parallel = False

    def __init__(self, device: Device, weights: Weights, prefix: Int32) -> None:
        """Upload the weights; OutOfDeviceMemoryError if the device cannot hold them."""
        self._device, self._shape = device, weights.shape
        shape = weights.shape
        with device.lock:
            device.activate()
            self._products = Products(device)
            self._table = upload_embedding(device, weights)
            self._layers = [upload_layer(device, layer, shape) for layer in weights.layers]
            self._none = device.empty((4,), np.float32)
            self._angles = self._upload_angles(4096)
            self._workspace = self._new_workspace(LEAST_TOKENS)
            row = shape.q_width + 2 * shape.kv_width
            self._prefix = [device.empty((max(len(prefix), 1), row), _HALF) for _ in range(shape.layers)]
            self._prefix_rows = 0
            readout = weights.readout
            self._readout = None if readout is None else DeviceReadout(device, self._products, readout)
            self._rows = None if weights.rows is None else DeviceHead(device, self._products, weights.rows)
            if len(prefix):
                positions = np.arange(len(prefix), dtype=np.int32)
                self._keep_prefix(Batch(prefix, positions, np.array([0, len(prefix)])))

    def encode(
        self,
        batch: Batch,
        taps: frozenset[int] = frozenset(),
        between_layers: Callable[[], None] | None = None,
    ) -> Encoded:
        """As `Encoder.encode`, halved until it fits; OutOfDeviceMemoryError if one sequence does not."""
        return self._fitting(
            batch,
            lambda: self._through(self._start(batch), taps, between_layers),
            lambda: _joined([self.encode(half, taps, between_layers) for half in _halved(batch)]),
        )

    def encode_keys(self, batch: Batch, runs: Int32, between_layers: Callable[[], None] | None = None) -> Keys:
        """As `Encoder.encode_keys`, and as `encode` when memory is short. Only the keys leave the device."""
        readout = self._readout
        assert readout is not None

        def halves() -> Keys:
            first, second = _halved(batch)
            later = runs[:, 0] >= len(first.ids)
            parts = (first, runs[~later]), (second, runs[later] - np.int32(len(first.ids)))
            return joined_keys([self.encode_keys(half, rows, between_layers) for half, rows in parts])

        return self._fitting(
            batch, lambda: readout.keys(*self._forward(self._start(batch), between_layers), runs), halves
        )

    def encode_rows(self, batch: Batch, between_layers: Callable[[], None] | None = None) -> Float32:
        """As `RowEncoder.encode_rows`, and as `encode` when memory is short. Hidden states stay on the device."""
        head = self._rows
        assert head is not None

        def whole() -> Float32:
            read = head.read(*self._forward(self._start(batch), between_layers))
            return self._device.download(read)[:, : head.columns]

        return self._fitting(
            batch, whole, lambda: np.concatenate([self.encode_rows(half, between_layers) for half in _halved(batch)])
        )

    def _fitting(self, batch: Batch, whole: Callable[[], T], halves: Callable[[], T]) -> T:
        """The result of `whole` on the device, or of `halves` where its memory is too short for that."""
        with self._device.lock:
            self._device.activate()
            try:
                return whole()
            except OutOfDeviceMemoryError:
                if len(batch.offsets) <= 2:
                    raise
            return halves()

    def _forward(self, run: _Run, between_layers: Callable[[], None] | None) -> tuple[DeviceArray, DeviceArray]:
        """The residual stream after the last layer, float32 [T, width], and float16 scratch of its shape."""
        for layer, prefix in zip(self._layers, self._prefix, strict=True):
            self._layer(run, layer, prefix, None)
            if between_layers is not None:
                between_layers()
        return self._workspace.x.rows(0, run.tokens), self._workspace.normed.rows(0, run.tokens)

    def _through(self, run: _Run, taps: frozenset[int], between_layers: Callable[[], None] | None) -> Encoded:
        queries, keys = {}, {}
        shape, device = self._shape, self._device
        for index, layer in enumerate(self._layers):
            tapped = None
            if index in taps:
                tapped = (
                    device.empty((run.tokens, shape.heads, shape.head_dim), np.float32),
                    device.empty((run.tokens, shape.kv_heads, shape.head_dim), np.float32),
                )
            self._layer(run, layer, self._prefix[index], tapped)
            if between_layers is not None:
                between_layers()
            if tapped is not None:
                queries[index], keys[index] = (device.download(array) for array in tapped)
        return Encoded(device.download(self._workspace.x.rows(0, run.tokens)), queries, keys)

    def _start(self, batch: Batch) -> _Run:
        tokens = len(batch.ids)
        if tokens > self._workspace.tokens:
            self._workspace = self._new_workspace(tokens)
        highest = int(batch.positions.max(initial=0))
        if highest >= self._angles[0].shape[0]:
            self._angles = self._upload_angles(2 * highest)
        device = self._device
        ids = device.upload(np.asarray(batch.ids, np.int32))
        grid = -(-tokens // ROWS), 1
        device.launch(embedding(self._shape.width), grid, ids, self._table, self._workspace.x, tokens)
        tiles = device.upload(query_tiles(batch.offsets))
        positions = device.upload(np.asarray(batch.positions, np.int32))
        return _Run(tokens, positions, tiles, self._prefix_rows)

    def _layer(
        self, run: _Run, layer: DeviceLayer, prefix: DeviceArray, tapped: tuple[DeviceArray, DeviceArray] | None
    ) -> None:
        """One decoder layer on the residual stream, in place."""
        work, products = self._workspace, self._products
        x, normed, qkv, mixed, activated = (
            part.rows(0, run.tokens) for part in (work.x, work.normed, work.qkv, work.mixed, work.activated)
        )
        self._norm(x, layer.attn_norm, normed)
        products.project(normed, layer.qkv, qkv)
        self._rotate(run, layer, qkv, tapped)
        self._attend(run, qkv, prefix, mixed)
        products.add(mixed, layer.attn_output, x)
        self._norm(x, layer.ffn_norm, normed)
        products.swiglu(normed, layer.gate_up, activated)
        products.add(activated, layer.ffn_down, x)

    def _norm(self, x: DeviceArray, weight: DeviceArray, out: DeviceArray) -> None:
        rows, width = x.shape
        self._device.launch(rms_norm(width), (-(-rows // ROWS), 1), x, weight, out, rows, self._shape.rms_eps)

    def _rotate(
        self, run: _Run, layer: DeviceLayer, qkv: DeviceArray, tapped: tuple[DeviceArray, DeviceArray] | None
    ) -> None:
        shape, none = self._shape, self._none
        kernel = rope(shape.head_dim, shape.rope_interleaved, layer.qkv_bias is not None, layer.q_norm is not None)
        threads = run.tokens * (shape.heads + 2 * shape.kv_heads) * shape.head_dim // 8
        tap_q, tap_k = tapped or (none, none)
        self._device.launch(
            kernel, (-(-threads // THREADS), 1), qkv, run.positions, *self._angles, layer.qkv_bias or none,
            layer.key_centre or none, layer.q_norm or none, layer.k_norm or none, tap_q, tap_k, run.tokens, shape.heads,
            shape.kv_heads, int(tapped is not None), shape.rms_eps,
        )  # fmt: skip

    def _attend(self, run: _Run, qkv: DeviceArray, prefix: DeviceArray, out: DeviceArray) -> None:
        shape = self._shape
        k, v, row = shape.q_width, shape.q_width + shape.kv_width, qkv.shape[1]
        self._device.launch(
            attention_for(self._device.capability, shape.head_dim), (run.tiles.shape[0], shape.heads), qkv,
            qkv.offset(k), qkv.offset(v), out, prefix.offset(k), prefix.offset(v), run.prefix_rows, run.tiles, row,
            shape.q_width, shape.group, scale_log2(shape.head_dim),
        )  # fmt: skip

    def _keep_prefix(self, batch: Batch) -> None:
        """Run the prefix through the layers and keep each layer's rotated keys and values."""
        run = self._start(batch)
        rows = len(batch.ids)
        for layer, prefix in zip(self._layers, self._prefix, strict=True):
            self._layer(run, layer, prefix, None)
            self._device.copy(prefix, self._workspace.qkv.rows(0, rows))
        self._prefix_rows = rows

    def _new_workspace(self, tokens: int) -> _Workspace:
        shape, empty = self._shape, self._device.empty
        return _Workspace(
            tokens,
            empty((tokens, shape.width), np.float32),
            empty((tokens, shape.width), _HALF),
            empty((tokens, shape.q_width + 2 * shape.kv_width), _HALF),
            empty((tokens, shape.q_width), _HALF),
            empty((tokens, shape.ffn_width), _HALF),
        )

    def _upload_angles(self, positions: int) -> tuple[DeviceArray, DeviceArray]:
        cos, sin = rope_table(np.arange(positions, dtype=np.int32), self._shape.head_dim, self._shape.rope_base)
        return self._device.upload(cos), self._device.upload(sin)


def attention_for(capability: tuple[int, int], head_dim: int) -> Kernel:
    """The kernel of attention for a device."""
    return (attention_hopper if capability == (9, 0) else attention)(head_dim)


def supports(shape: TransformerShape) -> str | None:
    """None if the kernels support this shape, else a phrase that names what they do not support."""
    if shape.head_dim not in (64, 128):
        return f"heads of {shape.head_dim} columns (the GPU kernels take 64 and 128)"
    if shape.width % 64 or shape.q_width % 64 or shape.ffn_width % 64:
        return "matrices whose columns are no multiple of 64"
    return None


def _halved(batch: Batch) -> tuple[Batch, Batch]:
    middle = (len(batch.offsets) - 1) // 2
    cut = int(batch.offsets[middle])
    first = Batch(batch.ids[:cut], batch.positions[:cut], batch.offsets[: middle + 1])
    return first, Batch(batch.ids[cut:], batch.positions[cut:], batch.offsets[middle:] - cut)


def _joined(parts: list[Encoded]) -> Encoded:
    def all_of(states: list[dict[int, Float32]]) -> dict[int, Float32]:
        return {layer: np.concatenate([s[layer] for s in states]) for layer in states[0]}

    hidden = np.concatenate([p.hidden for p in parts])
    return Encoded(hidden, all_of([p.queries for p in parts]), all_of([p.keys for p in parts]))
