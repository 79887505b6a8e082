"""Scores units by a workspace's cached keys, on the CPU."""

from winnow_cuda.ops.maxsim import maxsim
from winnow_cuda.ops.unit_mass import unit_mass
from winnow_cuda.ops.unit_products import unit_products


class CpuScorer:
    """The ops of the CPU behind the interface of a `Scorer`."""

    maxsim = staticmethod(maxsim)
    unit_mass = staticmethod(unit_mass)
    unit_products = staticmethod(unit_products)
