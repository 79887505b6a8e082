"""One adapter from several: the mean of what each adds to the drafter's weights, and of the heads.

Adapters that start alike and see other questions err in other ways, and their mean errs less ("model soups", Wortsman
et al. 2022). The mean of the factors a and b is not the factors of the mean; so the updates b·a are averaged, and of
their mean the best approximation of the adapters' rank is kept, by its singular values (Eckart and Young 1936).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from winnow_cuda.shapes import Float32
from winnow_engine.drafter.adapter import Tensors, read_adapter
from winnow_engine.errors import TrainingError


def mean(adapters: Sequence[Path], out: Path) -> float:
    """Write the mean of `adapters` to `out`, float16; the share of the mean update that their rank holds, 0 to 1.

    The share is of the squared singular values of all matrices. Raises ProfileError for a file that is no adapter and
    TrainingError for adapters of different layers, ranks or scales; `out` is written last.
    """
    stored = [read_adapter(path) for path in adapters]
    (first, scale), *others = stored
    for path, (tensors, other) in zip(adapters[1:], others, strict=True):
        if other != scale or _shapes(tensors) != _shapes(first):
            raise TrainingError(f"{path} has other layers, another rank or scale than {adapters[0]}: average equals")
    found: Tensors = {}
    held = whole = 0.0
    for name in first:
        each = [tensors[name] for tensors, _ in stored]
        if not name.startswith("lora."):
            found[name] = np.mean(each, axis=0, dtype=np.float32)
        elif name.endswith(".a"):
            b = f"{name.removesuffix('a')}b"
            found[b], found[name], singular = _mean_update([tensors[b] for tensors, _ in stored], each)
            held += float(np.square(singular[: len(each[0])]).sum())
            whole += float(np.square(singular).sum())
    rows = {name: found[name].astype(np.float16, order="C") for name in first}  # save_file takes no other order
    save_file(rows, out, {"lora_scale": str(scale)})
    return held / whole if whole else 1.0


def _mean_update(b: Sequence[Float32], a: Sequence[Float32]) -> tuple[Float32, Float32, Float32]:
    """Σ b·a / n of b [out, rank] and a [rank, in] as one b and a of that rank, and all its singular values."""
    rank = len(a[0])
    left, left_core = np.linalg.qr(np.concatenate(b, axis=1) / len(b))
    right, right_core = np.linalg.qr(np.concatenate(a, axis=0).T)
    u, singular, v = np.linalg.svd(left_core @ right_core.T)
    root = np.sqrt(singular[:rank])
    return left @ (u[:, :rank] * root), (right @ (v[:rank].T * root)).T, singular


def _shapes(tensors: Tensors) -> dict[str, tuple[int, ...]]:
    return {name: tensor.shape for name, tensor in tensors.items()}
