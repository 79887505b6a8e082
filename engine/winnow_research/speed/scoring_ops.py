"""Speed and error of the ops that make keys and score them, on the device at hand."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from winnow_cuda.ops.elementwise import standardise
from winnow_cuda.ops.gpu import elementwise as elementwise_op
from winnow_cuda.ops.gpu import readout as readout_op
from winnow_cuda.ops.gpu import scoring as scoring_op
from winnow_cuda.ops.readout import pool_runs, quantise_keys
from winnow_cuda.ops.scoring import maxsim, unit_mass
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
        held, grid = [device.upload(v) for v in (vectors, query)], (-(-units // scoring_op.UNITS), 1)
        kernel = scoring_op.unit_products(256)
        seconds = seconds_of(device, lambda: device.launch(kernel, grid, *held, out, units))
        error = error_of(device.download(out)[:1000].T, query[None] @ vectors[:1000].T.astype(np.float64))
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
        halves, shares = scoring_op.split_maxsim_queries(queries, weights)
        units, blocks = len(offsets) - 1, len(shares) // scoring_op.MAXSIM_QUERIES
        out = device.empty((units, blocks), np.float32)
        device.fill(out, NAN)
        arrays = [device.upload(x) for x in (codes, scales, runs_between(offsets).astype(np.int32), halves, shares)]
        run = lambda: device.launch(scoring_op.maxsim(), (units, blocks), *arrays, out, units, len(shares))  # noqa: E731
        seconds = seconds_of(device, run)
        some = offsets[:501]
        found, stop = device.download(out).sum(1)[:500], int(some[-1])
        expected = maxsim(codes[:stop], scales[:stop], runs_between(some), queries, weights)
        size = f"{keys} keys, 60 queries"
        return figure_of("maxsim", size, seconds, 2.0 * keys * 64 * 60, 66.0 * keys, error_of(found, expected))

    def unit_mass(self, count: int) -> SpeedFigure:
        """Unit mass of 60 queries of one head over int8 keys of 64 columns."""
        device, offsets, queries = self.device, self._units(count), self.normal(60, 64)
        scales = self.random.random(count, np.float32).astype(HALF) / HALF(32)
        codes = self.random.integers(-127, 128, (count, 64), np.int8)
        halves, factors = scoring_op.split_mass_queries(queries)
        units, padded = len(offsets) - 1, len(factors)
        mass, peak = (device.empty((units, padded), np.float32) for _ in range(2))
        device.fill(mass, NAN)
        arrays = [device.upload(x) for x in (codes, scales, runs_between(offsets).astype(np.int32), halves, factors)]
        grid, kernel = (units, padded // scoring_op.MASS_QUERIES), scoring_op.unit_mass(64)
        seconds = seconds_of(device, lambda: device.launch(kernel, grid, *arrays, mass, peak, padded))
        some = offsets[:501]
        stop = int(some[-1])
        expected, _ = unit_mass(codes[:stop], scales[:stop], some, queries)
        error = error_of(device.download(mass)[:500, :60], expected)
        size = f"{count} keys, 60 queries"
        return figure_of("unit_mass", size, seconds, 2.0 * count * 64 * 60, 66.0 * count, error)
