"""Speed and error of the ops that make keys and score them, on the device at hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from winnow_cuda.ops.gpu import maxsim as maxsim_op
from winnow_cuda.ops.gpu import pool_runs as pool_runs_op
from winnow_cuda.ops.gpu import quantise_keys as quantise_keys_op
from winnow_cuda.ops.gpu import standardise as standardise_op
from winnow_cuda.ops.gpu import unit_mass as unit_mass_op
from winnow_cuda.ops.gpu import unit_products as unit_products_op
from winnow_cuda.ops.maxsim import maxsim_numpy
from winnow_cuda.ops.pool_runs import pool_runs_numpy
from winnow_cuda.ops.quantise_keys import quantise_keys_numpy
from winnow_cuda.ops.standardise import standardise_numpy
from winnow_cuda.ops.unit_mass import unit_mass_numpy
from winnow_cuda.ops.unit_products import unit_products_numpy
from winnow_cuda.shapes import Int64, runs_between
from winnow_research.speed.base import HALF, NAN, TOKENS, RandomData, SpeedFigure, error_of, figure_of, seconds_of

_UNIT = 128  # tokens, on average


class ScoringOps(RandomData):
    """The ops of readout and scoring on one device, a method each, named as in `winnow_cuda.ops`."""

    def all(self) -> Iterator[SpeedFigure]:
        """Every op, at the sizes of the default adapter."""
        yield self.standardise(TOKENS, 896)
        yield self.quantise_keys(TOKENS)
        yield self.pool_runs(TOKENS)
        yield from (self.maxsim(keys) for keys in (TOKENS, 10_000_000))
        yield self.unit_mass(TOKENS)
        yield from (self.unit_products(units) for units in (TOKENS // _UNIT, 10_000_000 // _UNIT))

    def standardise(self, rows: int, width: int) -> SpeedFigure:
        """float32 rows to float16, twice in a readout."""
        device, few = self.device, self.normal(2048, width)
        mean, inverse = self.normal(width), np.asarray(np.exp(self.normal(width)), np.float32)
        x, out = self.rows(few, rows, np.float32), device.empty((rows, width), HALF)
        device.fill(out, NAN)
        held, grid = [device.upload(v) for v in (mean, inverse)], (-(-rows // standardise_op.ROWS), 1)
        kernel = standardise_op.standardise(width)
        seconds = seconds_of(device, lambda: device.launch(kernel, grid, x, *held, out, rows))
        error = error_of(
            device.download(out.rows(0, 64)), standardise_numpy(few[:64], mean, np.asarray(1 / inverse, np.float32))
        )
        return figure_of("standardise", f"{rows} x {width}", seconds, 0, 6.0 * rows * width, error)

    def quantise_keys(self, rows: int) -> SpeedFigure:
        """Products of 64 columns to int8 unit vectors; the error is that of codes times scales."""
        device, x = self.device, self.normal(rows, 64)
        codes, scales = device.empty((rows, 64), np.int8), device.empty((rows,), np.float32)
        device.fill(scales, NAN)
        held, grid = device.upload(x), (-(-rows // quantise_keys_op.ROWS), 1)
        kernel = quantise_keys_op.quantise_keys(64)
        seconds = seconds_of(device, lambda: device.launch(kernel, grid, held, codes, scales, rows))
        expected, wide = quantise_keys_numpy(x[:4096])
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
        held, kernel = [device.upload(v) for v in (y, runs)], pool_runs_op.pool_runs(272)
        seconds = seconds_of(device, lambda: device.launch(kernel, (len(runs), 1), *held, out))
        expected = pool_runs_numpy(y[:4096, :256], y[:4096, 256], runs[: 4096 // _UNIT])
        error = error_of(device.download(out)[: len(expected)], expected)
        return figure_of("pool_runs", f"{rows} x 257, runs of {_UNIT}", seconds, 0, 4.0 * rows * 257, error)

    def unit_products(self, units: int) -> SpeedFigure:
        """Products of every unit's vector with one query."""
        device, query = self.device, self.normal(256)
        vectors = self.random.standard_normal((units, 256), np.float32).astype(HALF)
        out = device.empty((units, 1), np.float32)
        device.fill(out, NAN)
        held, grid = [device.upload(v) for v in (vectors, query)], (-(-units // unit_products_op.UNITS), 1)
        kernel = unit_products_op.unit_products(256)
        seconds = seconds_of(device, lambda: device.launch(kernel, grid, *held, out, units))
        error = error_of(device.download(out)[:1000].T, unit_products_numpy(vectors[:1000], query[None]))
        return figure_of("unit_products", f"{units} x 256", seconds, 512.0 * units, 512.0 * units, error)

    def _units(self, keys: int) -> Int64:
        """Offsets of units of 128 keys on average."""
        cuts = self.random.choice(keys, keys // 128 - 1, replace=False)
        return np.sort(np.concatenate([[0, keys], cuts]))

    def maxsim(self, keys: int) -> SpeedFigure:
        """MaxSim of 60 queries over int8 keys of 64 columns."""
        device, offsets = self.device, self._units(keys)
        codes = self.random.integers(-127, 128, (keys, 64), np.int8)
        scales, weights = self.random.random(keys, np.float32).astype(HALF), self.random.random(60, np.float32)
        queries = self.normal(60, 64)
        halves, shares = maxsim_op.split_queries(queries, weights)
        units, blocks = len(offsets) - 1, len(shares) // maxsim_op.QUERIES
        out = device.empty((units, blocks), np.float32)
        device.fill(out, NAN)
        arrays = [device.upload(x) for x in (codes, scales, runs_between(offsets).astype(np.int32), halves, shares)]
        run = lambda: device.launch(maxsim_op.maxsim(), (units, blocks), *arrays, out, units, len(shares))  # noqa: E731
        seconds = seconds_of(device, run)
        some = offsets[:501]
        found, stop = device.download(out).sum(1)[:500], int(some[-1])
        expected = maxsim_numpy(codes[:stop], scales[:stop], runs_between(some), queries, weights)
        size = f"{keys} keys, 60 queries"
        return figure_of("maxsim", size, seconds, 2.0 * keys * 64 * 60, 66.0 * keys, error_of(found, expected))

    def unit_mass(self, count: int) -> SpeedFigure:
        """Unit mass of 60 queries of one head over int8 keys of 64 columns."""
        device, offsets, queries = self.device, self._units(count), self.normal(60, 64)
        scales = self.random.random(count, np.float32).astype(HALF) / HALF(32)
        codes = self.random.integers(-127, 128, (count, 64), np.int8)
        halves, factors = unit_mass_op.split_queries(queries)
        units, padded = len(offsets) - 1, len(factors)
        mass, peak = (device.empty((units, padded), np.float32) for _ in range(2))
        device.fill(mass, NAN)
        arrays = [device.upload(x) for x in (codes, scales, runs_between(offsets).astype(np.int32), halves, factors)]
        grid, kernel = (units, padded // unit_mass_op.QUERIES), unit_mass_op.unit_mass(64)
        seconds = seconds_of(device, lambda: device.launch(kernel, grid, *arrays, mass, peak, padded))
        some = offsets[:501]
        stop = int(some[-1])
        expected, _ = unit_mass_numpy(codes[:stop], scales[:stop], some, queries)
        error = error_of(device.download(mass)[:500, :60], expected)
        size = f"{count} keys, 60 queries"
        return figure_of("unit_mass", size, seconds, 2.0 * count * 64 * 60, 66.0 * count, error)
