"""Speed and error of the encoder's ops on the device at hand.

Every figure comes with its relative error against the CPU's op, taken in the same run on a sample of rows, after the
output had been filled with NaN. Ceilings are measured, not looked up: the best of our products and a large copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from winnow_cuda.compiler.kernel import Kernel
from winnow_cuda.device import DeviceArray
from winnow_cuda.gpu.encoder import attention_for
from winnow_cuda.ops.attention import segment_attention
from winnow_cuda.ops.elementwise import rms_norm, rope, rope_table, swiglu
from winnow_cuda.ops.gpu import elementwise as elementwise_op
from winnow_cuda.ops.gpu import gemm as gemm_op
from winnow_cuda.ops.gpu.attention import query_tiles, scale_log2
from winnow_cuda.ops.gpu.gemm import EPILOGUES, Epilogue
from winnow_cuda.ops.gpu.gemm_hopper import TALL, gemm_hopper
from winnow_research.speed.base import HALF, NAN, TOKENS, RandomData, SpeedFigure, error_of, figure_of, seconds_of

_SHAPES = ((64, 14, 2), (128, 16, 8))  # head size, heads and KV heads of Qwen2.5-Coder-0.5B and of Qwen3-0.6B


class EncoderOps(RandomData):
    """The encoder's ops on one device, a method each, named as in `winnow_cuda.ops`."""

    def all(self) -> Iterator[SpeedFigure]:
        """Every op, at the sizes of Qwen2.5-Coder-0.5B and 128K tokens."""
        for n, k in ((9728, 896), (896, 4864), (1152, 896)):
            yield from self.gemm(TOKENS, n, k)
        yield from self.gemm(8192, 8192, 8192)
        yield self.rms_norm(TOKENS, 896)
        yield self.embedding(TOKENS, 896)
        yield self.rope(TOKENS, 14, 2)
        yield from (self.segment_attention(*shape) for shape in _SHAPES)

    def gemm(self, m: int, n: int, k: int) -> Iterator[SpeedFigure]:
        """C = epilogue(A · Wᵀ) by every kernel this device runs."""
        few = self.normal(2048, k)
        w = self.normal(n, k) * np.float32(0.125)
        a, held = self.rows(few, m), self.rows(w, n)
        c = self.device.empty((m, n), np.float32)
        size, flops, moved = f"{m} x {n} x {k}", 2.0 * m * n * k, 2.0 * (m * k + n * k + m * n)

        def timed(name: str, kind: Epilogue, run: Callable[[], None]) -> SpeedFigure:
            self.device.fill(c, 0 if kind == "add" else NAN)
            run()
            width, dtype = (n // 2 if kind == "swiglu" else n), (np.float32 if kind == "add" else HALF)
            found = self.device.download(DeviceArray(c.pointer, (64, width), np.dtype(dtype), c))
            expected = few[:64].astype(np.float64) @ w.T
            if kind == "swiglu":
                pairs = expected.astype(np.float32).reshape(64, -1, 2, 8).swapaxes(1, 2)
                expected = swiglu(np.ascontiguousarray(pairs.reshape(64, -1)))
            return figure_of(name, size, seconds_of(self.device, run), flops, moved, error_of(found, expected))

        def own(kernel: Kernel, rows: int, columns: int) -> Callable[[], None]:
            grid = -(-n // columns), -(-m // rows)
            return lambda: self.device.launch(kernel, grid, a, held, c, m, n, k)

        for kind in EPILOGUES:
            yield timed(f"gemm_{kind}", kind, own(gemm_op.gemm(kind), gemm_op.ROWS, gemm_op.COLUMNS))
            if self.device.capability == (9, 0):
                yield timed(f"gemm_hopper_{kind}", kind, own(gemm_hopper(kind, TALL), TALL.rows, TALL.columns))

    def rms_norm(self, rows: int, width: int) -> SpeedFigure:
        """RMSNorm of float32 rows to float16."""
        few, weight = self.normal(2048, width), self.normal(1, width)[0]
        x = self.rows(few, rows, np.float32)
        out, scale = self.device.empty((rows, width), HALF), self.device.upload(weight)
        self.device.fill(out, NAN)

        kernel, grid = elementwise_op.rms_norm(width), (-(-rows // elementwise_op.ROWS), 1)
        seconds = seconds_of(self.device, lambda: self.device.launch(kernel, grid, x, scale, out, rows, 1e-6))
        found = self.device.download(out.rows(0, 64))
        return figure_of(
            "rms_norm", f"{rows} x {width}", seconds, 0, 6.0 * rows * width,
            error_of(found, rms_norm(few[:64], weight, 1e-6)),
        )  # fmt: skip

    def embedding(self, rows: int, width: int) -> SpeedFigure:
        """Rows of a float16 table of 4,096 tokens, as float32."""
        device, table = self.device, self.normal(4096, width)
        ids = self.random.integers(0, len(table), rows).astype(np.int32)
        held, asked, out = self.rows(table, len(table)), device.upload(ids), device.empty((rows, width), np.float32)
        device.fill(out, NAN)
        kernel, grid = elementwise_op.embedding(width), (-(-rows // elementwise_op.ROWS), 1)
        seconds = seconds_of(device, lambda: device.launch(kernel, grid, asked, held, out, rows))
        error = error_of(device.download(out.rows(0, 64)), table[ids[:64]])
        return figure_of("embedding", f"{rows} x {width}", seconds, 0, 6.0 * rows * width, error)

    def rope(self, tokens: int, heads: int, kv: int, dim: int = 64) -> SpeedFigure:
        """Queries and keys turned in place, with a bias added before and a centre taken off the keys."""
        device, rows = self.device, heads + 2 * kv
        few, bias, centre = self.normal(2048, rows * dim), self.normal(rows * dim), self.normal(kv * dim)
        positions = np.arange(tokens, dtype=np.int32) % 2048
        table = rope_table(np.arange(2048, dtype=np.int32), dim, 1e6)
        qkv, none = self.rows(few, tokens), device.empty((4,), np.float32)
        held = [device.upload(x) for x in (positions, *table, bias, centre)]
        kernel = elementwise_op.rope(dim, False, True, False)
        grid = -(-tokens * rows * dim // 8 // elementwise_op.THREADS), 1

        def run() -> None:
            device.launch(kernel, grid, qkv, *held, none, none, none, none, tokens, heads, kv, 0, 1e-6)

        run()
        found = device.download(qkv.rows(0, 64)).reshape(64, rows, dim)
        q, k, v = np.split((few[:64] + bias).reshape(64, rows, dim), [heads, heads + kv], axis=1)
        q, k = (rope(part, table[0][:64], table[1][:64], False) for part in (q, k))
        error = error_of(found, np.concatenate([q, k - centre.reshape(kv, dim), v], axis=1))
        size = f"{tokens} tokens, {heads} / {kv} heads of {dim}"
        return figure_of("rope", size, seconds_of(device, run), 0, 4.0 * tokens * rows * dim, error)

    def segment_attention(self, dim: int, heads: int, kv: int) -> SpeedFigure:
        """Packed causal attention in segments of 2,048 behind a prefix of 23, with different data in each segment."""
        length, prefix, row = 2048, 23, (heads + 2 * kv) * dim
        values, shared = self.normal(3 * length, row), self.normal(prefix, row)
        qkv, held = self.rows(values, TOKENS), self.rows(shared, prefix)
        out = self.device.empty((TOKENS, heads * dim), HALF)
        self.device.fill(out, NAN)
        offsets = np.arange(0, TOKENS + 1, length)
        tiles = self.device.upload(query_tiles(offsets))
        k, v = heads * dim, (heads + kv) * dim
        kernel = attention_for(self.device.capability, dim)

        def run() -> None:
            self.device.launch(
                kernel, (tiles.shape[0], heads), qkv, qkv.offset(k), qkv.offset(v), out, held.offset(k),
                held.offset(v), prefix, tiles, row, heads * dim, heads // kv, scale_log2(dim),
            )  # fmt: skip

        seconds = seconds_of(self.device, run)
        found = self.device.download(out.rows(length, length + 256)).reshape(256, heads, dim)
        q, keys, mixed = np.split(values[length : length + 256].reshape(256, -1, dim), [heads, heads + kv], axis=1)
        pk, pv = np.split(shared.reshape(prefix, -1, dim)[:, heads:], 2, axis=1)
        expected = segment_attention(q, keys, mixed, np.array([0, 256]), pk, pv)
        pairs = TOKENS // length * (length * prefix + length * (length + 1) / 2)
        size = f"{TOKENS} tokens, {heads} / {kv} heads of {dim}"
        return figure_of(
            kernel.name, size, seconds, 4.0 * heads * dim * pairs, 2.0 * TOKENS * (row + k), error_of(found, expected)
        )
