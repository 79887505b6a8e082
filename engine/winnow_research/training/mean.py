"""One adapter from several: the mean of what each adds to the drafter's weights, and of their heads.

Adapters that start alike and see different questions make different errors, and their mean makes fewer ("model soups",
Wortsman et al. 2022). The mean of the factors a and b does not give the mean of the updates b·a. So the updates are
averaged, and the best approximation of the adapters' rank is kept, by singular values (Eckart and Young 1936).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from winnow_cuda.shapes import Float32
from winnow_engine.encoder.adapter import AdapterProfile
from winnow_engine.encoder.low_rank import Tensors
from winnow_research.calibration.profile_writing import write_tensors
from winnow_research.errors import TrainingError


def mean(adapters: Sequence[Path], out: Path) -> float:
    """Write the mean of `adapters` to `out` in float16. Returns the share of the mean update that their rank holds.

    The share, 0 to 1, is of the squared singular values of all matrices. Raises ProfileError for a file that is not an
    adapter, and TrainingError for adapters of different layers, ranks or scales; then nothing is written.
    """
    stored = [AdapterProfile(path) for path in adapters]
    first = stored[0]
    for path, other in zip(adapters, stored, strict=True):
        if other.scale != first.scale or _shapes(other) != _shapes(first):
            raise TrainingError(f"{path} has other layers, another rank or scale than {adapters[0]}: average equals")
    found: Tensors = {}
    held = whole = 0.0
    for name in first.tensors:
        each = [one.tensors[name] for one in stored]
        if not name.startswith("lora."):
            found[name] = np.mean(each, axis=0, dtype=np.float32)
        elif name.endswith(".a"):
            b = f"{name.removesuffix('a')}b"
            found[b], found[name], singular = _mean_update([one.tensors[b] for one in stored], each)
            held += float(np.square(singular[: first.rank]).sum())
            whole += float(np.square(singular).sum())
    write_tensors(out, found, first.scale)
    return held / whole if whole else 1.0


def _mean_update(b: Sequence[Float32], a: Sequence[Float32]) -> tuple[Float32, Float32, Float32]:
    """Σ b·a / n as one b [out, rank] and one a [rank, in], and all its singular values."""
    rank = len(a[0])
    left, left_core = np.linalg.qr(np.concatenate(b, axis=1) / len(b))
    right, right_core = np.linalg.qr(np.concatenate(a, axis=0).T)
    u, singular, v = np.linalg.svd(left_core @ right_core.T)
    root = np.sqrt(singular[:rank])
    return left @ (u[:, :rank] * root), (right @ (v[:rank].T * root)).T, singular


def _shapes(adapter: AdapterProfile) -> dict[str, tuple[int, ...]]:
    return {name: tensor.shape for name, tensor in adapter.tensors.items()}
