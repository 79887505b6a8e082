"""Speed and error of the ops that make keys, and of products with few rows, on the device at hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from winnow_cuda.ops.elementwise import standardise
from winnow_cuda.ops.gpu import elementwise as elementwise_op
from winnow_cuda.ops.gpu import readout as readout_op
from winnow_cuda.ops.gpu import unit_products as products_op
from winnow_cuda.ops.readout import pool_runs, quantise_keys
from winnow_research.speed.base import HALF, NAN, TOKENS, RandomData, SpeedFigure, error_of, figure_of, seconds_of

_UNIT = 128  # tokens, on average


class ReadoutOps(RandomData):
    """The ops of readout and of a draft's rows on one device, a method each, named as in `winnow_cuda.ops`."""

    def all(self) -> Iterator[SpeedFigure]:
        """Every op, at the sizes of the default adapter."""
        yield self.standardise(TOKENS, 896)
        yield self.quantise_keys(TOKENS)
        yield self.pool_runs(TOKENS)
        yield self.unit_products(TOKENS // _UNIT)

    def standardise(self, rows: int, width: int) -> SpeedFigure:
        """float32 rows to float16, twice in a readout."""
        device, few = self.device, self.normal(2048, width)
        mean, inverse = self.normal(width), np.asarray(np.exp(self.normal(width)), np.float32)
        x, out = self.rows(few, rows, np.float32), device.empty((rows, width), HALF)
        device.fill(out, NAN)
        held, grid = [device.upload(v) for v in (mean, inverse)], (-(-rows // elementwise_op.ROWS), 1)
        kernel = elementwise_op.standardise(width)
        seconds = seconds_of(device, lambda: device.launch(kernel, grid, x, *held, out, rows))
        error = error_of(
            device.download(out.rows(0, 64)), standardise(few[:64], mean, np.asarray(1 / inverse, np.float32))
        )
        return figure_of("standardise", f"{rows} x {width}", seconds, 0, 6.0 * rows * width, error)

    def quantise_keys(self, rows: int) -> SpeedFigure:
        """Products of 64 columns to int8 unit vectors; the error is that of codes times scales."""
        device, x = self.device, self.normal(rows, 64)
        codes, scales = device.empty((rows, 64), np.int8), device.empty((rows,), np.float32)
        device.fill(scales, NAN)
        held, grid = device.upload(x), (-(-rows // readout_op.ROWS), 1)
        kernel = readout_op.quantise_keys(64)
        seconds = seconds_of(device, lambda: device.launch(kernel, grid, held, codes, scales, rows))
        expected, wide = quantise_keys(x[:4096])
        found = device.download(codes)[:4096] * device.download(scales)[:4096, None]
        return figure_of(
            "quantise_keys", f"{rows} x 64", seconds, 0, 324.0 * rows, error_of(found, expected * wide[:, None])
        )

    def pool_runs(self, rows: int) -> SpeedFigure:
        """Products of 256 columns and a logit to a vector a run."""
        device, y, borders = self.device, self.normal(rows, 272), np.arange(0, rows, _UNIT, dtype=np.int32)
        runs = np.stack([borders, borders + _UNIT], 1)
        out = device.empty((len(runs), 256), np.float32)
        device.fill(out, NAN)
        held, kernel = [device.upload(v) for v in (y, runs)], readout_op.pool_runs(272)
        seconds = seconds_of(device, lambda: device.launch(kernel, (len(runs), 1), *held, out))
        shares, logits = np.ascontiguousarray(y[:4096, :256]), np.ascontiguousarray(y[:4096, 256])
        expected = pool_runs(shares, logits, runs[: 4096 // _UNIT])
        error = error_of(device.download(out)[: len(expected)], expected)
        return figure_of("pool_runs", f"{rows} x 257, runs of {_UNIT}", seconds, 0, 4.0 * rows * 257, error)

    def unit_products(self, units: int) -> SpeedFigure:
        """Products of every unit's vector with one query."""
        device, query = self.device, self.normal(256)
        vectors = self.random.standard_normal((units, 256), np.float32).astype(HALF)
        out = device.empty((units, 1), np.float32)
        device.fill(out, NAN)
        held, grid = [device.upload(v) for v in (vectors, query)], (-(-units // products_op.UNITS), 1)
        kernel = products_op.unit_products(256)
        seconds = seconds_of(device, lambda: device.launch(kernel, grid, *held, out, units))
        error = error_of(device.download(out)[:1000].T, query[None] @ vectors[:1000].T.astype(np.float64))
        return figure_of("unit_products", f"{units} x 256", seconds, 512.0 * units, 512.0 * units, error)
