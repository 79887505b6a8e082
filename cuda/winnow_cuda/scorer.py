"""Scores of units from a workspace's cached keys, on the CPU or, where there is a device, on it."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from winnow_cuda.device import availability, open_device
from winnow_cuda.fallback import Fallback, Notify
from winnow_cuda.ops.maxsim import maxsim
from winnow_cuda.ops.unit_mass import unit_mass
from winnow_cuda.ops.unit_products import unit_products
from winnow_cuda.shapes import Float32, Int8, Int64

Float16 = NDArray[np.float16]


class Scorer(Protocol):
    """The ops of the same names over all units of a workspace. Safe to call from several threads.

    An array of keys must not change between calls: a device keeps it for as long as it lives on the host.
    """

    def maxsim(self, codes: Int8, scales: Float16, offsets: Int64, queries: Float32, weights: Float32) -> Float32:
        """See `ops/maxsim.py`."""

    def unit_mass(
        self, keys: Int8 | Float16, scales: Float16 | None, offsets: Int64, queries: Float32
    ) -> tuple[Float32, Float32]:
        """See `ops/unit_mass.py`."""

    def unit_products(self, vectors: Float16, query: Float32) -> Float32:
        """See `ops/unit_products.py`."""


class CpuScorer:
    """The ops as they are."""

    maxsim = staticmethod(maxsim)
    unit_mass = staticmethod(unit_mass)
    unit_products = staticmethod(unit_products)


def open_scorer(binaries: MutableMapping[str, bytes], notify: Notify, on_compile: Notify) -> Scorer:
    """The scorer of this machine; arguments as for `open_encoder`."""
    if not availability().usable:
        return CpuScorer()
    from winnow_cuda.gpu_scorer import GpuScorer

    device = open_device()
    device.binaries, device.on_compile = binaries, on_compile
    return SteadfastScorer(GpuScorer(device), CpuScorer, notify)


class SteadfastScorer:
    """A scorer that, once the first fails for its device's sake, goes over to the second for good."""

    def __init__(self, first: Scorer, second: Callable[[], Scorer], notify: Notify) -> None:
        self._fallback = Fallback(first, second, notify)

    def maxsim(self, codes: Int8, scales: Float16, offsets: Int64, queries: Float32, weights: Float32) -> Float32:
        """As `Scorer.maxsim`."""
        return self._fallback.run(lambda scorer: scorer.maxsim(codes, scales, offsets, queries, weights))

    def unit_mass(
        self, keys: Int8 | Float16, scales: Float16 | None, offsets: Int64, queries: Float32
    ) -> tuple[Float32, Float32]:
        """As `Scorer.unit_mass`."""
        return self._fallback.run(lambda scorer: scorer.unit_mass(keys, scales, offsets, queries))

    def unit_products(self, vectors: Float16, query: Float32) -> Float32:
        """As `Scorer.unit_products`."""
        return self._fallback.run(lambda scorer: scorer.unit_products(vectors, query))
