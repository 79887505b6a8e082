"""Speed and error of every GPU kernel on the device at hand.

Every figure comes with its relative error against float64, taken in the same run on a sample of rows, after the output
had been filled with NaN. Ceilings are measured, not looked up: a large cuBLAS product and a large copy, where cuBLAS
is installed; the best of our own products otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.device import Device, DeviceArray
from winnow_cuda.gpu.blas import cublas
from winnow_cuda.gpu.encoder import segment_kernel
from winnow_cuda.gpu.joint import block_kernel
from winnow_cuda.ops.flash_prefill import BLOCK
from winnow_cuda.ops.gpu.attention import query_tiles, scale_log2
from winnow_cuda.ops.gpu.flash_prefill import block_scores, choose_blocks, mean_keys
from winnow_cuda.ops.gpu.gemm import EPILOGUES, Epilogue, Tile, gemm, gemm_numpy
from winnow_cuda.ops.gpu.gemm_hopper import TALL, gemm_hopper
from winnow_cuda.ops.gpu.rms_norm import ROWS, rms_norm
from winnow_cuda.ops.rms_norm import rms_norm_numpy
from winnow_cuda.ops.segment_attention import segment_attention_numpy
from winnow_cuda.shapes import Float32, Selection
from winnow_research.kernels.figure import Figure, figure_of
from winnow_research.kernels.rivals import flex_attention, sdpa
from winnow_research.kernels.timing import seconds_of

TOKENS = 131072
NAN = 0xFF
HALF = np.float16
_SHAPES = ((64, 14, 2), (128, 16, 8))  # head size, heads and KV heads of Qwen2.5-Coder-0.5B and of Qwen3-0.6B


def error_of(actual: NDArray[Any], expected: NDArray[Any]) -> float:
    """‖actual - expected‖ / ‖expected‖; NaN if anything was left unwritten."""
    wide = actual.astype(np.float64)
    return float(f"{np.linalg.norm(wide - expected) / np.linalg.norm(expected.astype(np.float64)):.1e}")


class Bench:
    """Kernels on one device, on random data."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.random = np.random.default_rng(0)

    def normal(self, *shape: int) -> Float32:
        """Random float32 values that are float16."""
        return self.random.standard_normal(shape, np.float32).astype(HALF).astype(np.float32)

    def rows(self, values: Float32, count: int) -> DeviceArray:
        """A float16 matrix of `count` rows on the device that repeats the rows of `values`."""
        held = self.device.empty((count, values.shape[1]), HALF)
        bits = values.astype(HALF)
        for start in range(0, count, len(bits)):
            self.device.write(held.rows(start, min(count, start + len(bits))), bits[: count - start])
        return held

    def kernels(self) -> Iterator[Figure]:
        """Every kernel, at the sizes of Qwen2.5-Coder-0.5B and 128K tokens."""
        for n, k in ((9728, 896), (896, 4864), (1152, 896)):
            yield from self.products(TOKENS, n, k)
        yield from self.products(8192, 8192, 8192)
        yield self.norm(TOKENS, 896)
        yield from (self.segments(*shape) for shape in _SHAPES)
        yield from sdpa(self.device, TOKENS, 2048, _SHAPES)
        yield from self.flash_prefill(TOKENS, 0.1)

    def products(self, m: int, n: int, k: int) -> Iterator[Figure]:
        """C = epilogue(A · Wᵀ) by every kernel this device runs, and by cuBLAS."""
        few = self.normal(2048, k)
        w = self.normal(n, k) * np.float32(0.125)
        a, held = self.rows(few, m), self.rows(w, n)
        c = self.device.empty((m, n), np.float32)
        size, flops, moved = f"{m} x {n} x {k}", 2.0 * m * n * k, 2.0 * (m * k + n * k + m * n)

        def timed(name: str, kind: Epilogue, run: Callable[[], None]) -> Figure:
            self.device.fill(c, 0 if kind == "add" else NAN)
            run()
            width, dtype = (n // 2 if kind == "swiglu" else n), (np.float32 if kind == "add" else HALF)
            sample = self.device.download(DeviceArray(c.pointer, (64, width), np.dtype(dtype), c))
            found = sample
            expected = gemm_numpy(kind, few[:64], w, np.zeros((64, n), np.float32))
            return figure_of(name, size, seconds_of(self.device, run), flops, moved, error_of(found, expected))

        def own(kernel: Kernel, rows: int, columns: int) -> Callable[[], None]:
            grid = -(-n // columns), -(-m // rows)
            return lambda: self.device.launch(kernel, grid, a, held, c, m, n, k)

        for kind in EPILOGUES:
            yield timed(f"gemm_{kind}", kind, own(gemm(kind, Tile()), Tile().rows, Tile().columns))
            if self.device.capability == (9, 0):
                yield timed(f"gemm_hopper_{kind}", kind, own(gemm_hopper(kind, TALL), TALL.rows, TALL.columns))
        library = cublas(self.device)
        if library is not None:
            narrow = DeviceArray(c.pointer, (m, n), np.dtype(HALF), c)
            yield timed("cublas", "half", lambda: library.gemm(a, held, narrow, add=False))
            yield timed("cublas, float32 added to", "add", lambda: library.gemm(a, held, c, add=True))

    def norm(self, rows: int, width: int) -> Figure:
        """RMSNorm of float32 rows to float16."""
        few, weight = self.normal(2048, width), self.normal(1, width)[0]
        x = self.device.empty((rows, width), np.float32)
        for start in range(0, rows, len(few)):
            self.device.write(x.rows(start, start + len(few)), few)
        out, scale = self.device.empty((rows, width), HALF), self.device.upload(weight)
        self.device.fill(out, NAN)

        def run() -> None:
            self.device.launch(rms_norm(width), (-(-rows // ROWS), 1), x, scale, out, rows, 1e-6)

        seconds = seconds_of(self.device, run)
        found = self.device.download(out.rows(0, 64))
        return figure_of(
            "rms_norm", f"{rows} x {width}", seconds, 0, 6.0 * rows * width,
            error_of(found, rms_norm_numpy(few[:64], weight, 1e-6)),
        )  # fmt: skip

    def segments(self, dim: int, heads: int, kv: int) -> Figure:
        """Packed causal attention in segments of 2,048 behind a prefix of 23, with different data in each segment."""
        length, prefix, row = 2048, 23, (heads + 2 * kv) * dim
        values, shared = self.normal(3 * length, row), self.normal(prefix, row)
        qkv, held = self.rows(values, TOKENS), self.rows(shared, prefix)
        out = self.device.empty((TOKENS, heads * dim), HALF)
        self.device.fill(out, NAN)
        offsets = np.arange(0, TOKENS + 1, length)
        tiles = self.device.upload(query_tiles(offsets))
        k, v = heads * dim, (heads + kv) * dim
        kernel = segment_kernel(self.device.capability, dim)

        def run() -> None:
            self.device.launch(
                kernel, (tiles.shape[0], heads), qkv, qkv.offset(k), qkv.offset(v), out, held.offset(k),
                held.offset(v), prefix, tiles, tiles, tiles, 0, row, heads * dim, heads // kv, scale_log2(dim),
            )  # fmt: skip

        seconds = seconds_of(self.device, run)
        found = self.device.download(out.rows(length, length + 256)).reshape(256, heads, dim)
        q, keys, mixed = np.split(values[length : length + 256].reshape(256, -1, dim), [heads, heads + kv], axis=1)
        pk, pv = np.split(shared.reshape(prefix, -1, dim)[:, heads:], 2, axis=1)
        expected = segment_attention_numpy(q, keys, mixed, np.array([0, 256]), pk, pv)
        pairs = TOKENS // length * (length * prefix + length * (length + 1) / 2)
        size = f"{TOKENS} tokens, {heads} / {kv} heads of {dim}"
        return figure_of(
            kernel.name, size, seconds, 4.0 * heads * dim * pairs, 2.0 * TOKENS * (row + k), error_of(found, expected)
        )

    def flash_prefill(self, tokens: int, density: float) -> Iterator[Figure]:
        """Block scores, choice and block-sparse attention, Qwen3-0.6B's heads; random blocks at `density`."""
        heads, kv, dim = 16, 8, 128
        row, blocks = (heads + 2 * kv) * dim, tokens // BLOCK
        device, qkv = self.device, self.rows(self.normal(4096, row), tokens)
        means = device.empty((kv, blocks, dim), HALF)
        high, total = (device.empty((heads, blocks, blocks), np.float32) for _ in range(2))
        chosen, counts = device.empty((heads, blocks, blocks), np.int32), device.empty((heads, blocks), np.int32)
        keys, rule, size = qkv.offset(heads * dim), Selection(0.12), f"{tokens} tokens, {heads} / {kv} heads of {dim}"

        def score() -> None:
            device.launch(mean_keys(dim), (blocks, kv), keys, means, tokens, row)
            device.launch(
                block_scores(dim), (blocks, heads), qkv, means, high, total, tokens, row, heads // kv, scale_log2(dim)
            )

        def choose() -> None:
            device.launch(
                choose_blocks(), (blocks, heads), high, total, chosen, counts, rule.alpha, rule.sink, rule.window,
                rule.last,
            )  # fmt: skip

        flops = 2.0 * heads * dim * tokens * blocks / 2
        yield figure_of("mean_keys, block_scores", size, seconds_of(device, score), flops, 2.0 * tokens * row, None)
        yield figure_of("choose_blocks", size, seconds_of(device, choose), 0, 8.0 * heads * blocks * blocks / 2, None)
        mask = np.tril(self.random.random((heads, blocks, blocks)) < density) | np.eye(blocks, dtype=bool)
        order = np.argsort(~mask, axis=-1, kind="stable").astype(np.int32)
        device.write(chosen, order)
        device.write(counts, mask.sum(-1).astype(np.int32))
        starts = np.arange(blocks, dtype=np.int32) * BLOCK
        tiles = device.upload(np.stack([starts, 0 * starts, 0 * starts + tokens, 0 * starts], 1))
        out = device.empty((tokens, heads * dim), HALF)
        kernel = block_kernel(device.capability, dim)

        def attend() -> None:
            device.launch(
                kernel, (blocks, heads), qkv, keys, qkv.offset((heads + kv) * dim), out, qkv, qkv, 0, tiles, chosen,
                counts, blocks, row, heads * dim, heads // kv, scale_log2(dim),
            )  # fmt: skip

        executed = 4.0 * dim * BLOCK * BLOCK * float(mask.sum())
        yield figure_of(kernel.name, f"{size}, {density:.0%} of blocks", seconds_of(device, attend), executed, 0, None)
        yield from flex_attention(device, mask, kv, dim)
