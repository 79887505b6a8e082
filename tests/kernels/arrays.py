"""Random arrays, and how far one is from another."""

import numpy as np
from lanes import from_half, half


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def normal_half(seed: int, *shape: int) -> np.ndarray:
    """Values that float16 holds."""
    return from_half(half(normal(seed, *shape)))


def error(actual: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(actual - expected) / np.linalg.norm(expected))
