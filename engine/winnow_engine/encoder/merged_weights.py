"""Merged weights on disk: a model's layers, dequantised and with updates merged in, a mapped file for each.

Dequantising and merging take seconds. The files are mapped read-only, so that loading takes milliseconds and processes
share their pages. Any process may delete any file at any time, so that no lock is needed.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_info

from winnow_cuda.ops._integers import LAYOUT
from winnow_cuda.ops.int8_products import MATRICES
from winnow_cuda.shapes import LayerWeights, MatrixForm, PackedMatrix
from winnow_engine.encoder.weights import ComputeLayer, Layers
from winnow_engine.storage.folders import cache_folder, files_in, used_last_first
from winnow_engine.storage.mapped import Array, open_arrays, write_arrays

KEPT = 3  # models to keep, those used last: a drafter's, its reranker's, and those of another drafter

_SUFFIX = ".layer"
_LEFT_FREE = 1 << 30  # bytes of disk that are left to the user
_log = logging.getLogger(__name__)


class MergedWeights:
    """One model's merged weights, in a folder of their own. A full disk keeps nothing."""

    def __init__(self, folder: Path, name: str) -> None:
        """`name` identifies all that the weights depend on (`name_of`)."""
        self._folder = folder / name

    def __call__(self, count: int, compute: ComputeLayer) -> Layers:
        """The `count` layers on disk: read-only views, but copies of vectors. Those not there are computed first."""
        layers = tuple(self._mapped(number) or self._kept(number, compute) for number in range(count))
        with suppress(OSError):
            os.utime(self._folder)
        models = self._folder.parent
        kept = [path for path, *_ in used_last_first(models) if path.is_dir()][:KEPT]
        for path, *_ in files_in(models):
            if path not in kept:
                shutil.rmtree(path, ignore_errors=True)
        return layers

    def _mapped(self, number: int) -> LayerWeights | None:
        found = open_arrays(self._file(number))
        return None if found is None else _layer(found)

    def _kept(self, number: int, compute: ComputeLayer) -> LayerWeights:
        """Compute a layer and write it, and return it as mapped, so that processes share its memory."""
        layer = compute(number)
        try:
            _write(self._file(number), layer)
        except OSError as error:
            _log.info("no merged weights can be kept in %s: %s", self._folder, error)
            return layer
        return self._mapped(number) or layer

    def _file(self, number: int) -> Path:
        return self._folder / f"{number}{_SUFFIX}"


def _write(path: Path, layer: LayerWeights) -> None:
    tensors = dict(_tensors("", layer))
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if shutil.disk_usage(path.parent).free < sum(tensor.nbytes for tensor in tensors.values()) + _LEFT_FREE:
        raise OSError("the disk is almost full")
    write_arrays(path, {name: [tensor] for name, tensor in tensors.items()})


def name_of(identity: str, form: MatrixForm) -> str:
    """Names the weights of a drafter as this machine computes them: libraries round matrix products differently."""
    blas = sorted(f"{p['internal_api']} {p.get('architecture')}" for p in threadpool_info() if p["user_api"] == "blas")
    depends = [identity, np.__version__, blas, LAYOUT if form == "packed" else form]
    return hashlib.sha256(json.dumps(depends).encode()).hexdigest()[:32]


def default_folder() -> Path:
    """The folder `weights` in the cache folder."""
    return cache_folder() / "weights"


def used_bytes(folder: Path) -> tuple[int, int]:
    """The number of models whose merged weights are in a folder, and their bytes."""
    models = [path for path, *_ in files_in(folder) if path.is_dir()]
    return len(models), sum(size for model in models for *_, size in files_in(model))


def _tensors(name: str, value: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """The tensors of a layer, as FIELD, packed ones as FIELD.PART."""
    if is_dataclass(value):
        for of in fields(value):
            yield from _tensors(f"{name}.{of.name}".lstrip("."), getattr(value, of.name))
    elif value is not None:
        yield name, value


def _layer(tensors: dict[str, Array]) -> LayerWeights:
    """The inverse of `_tensors`. Vectors are copied: Numba would compile its kernels again for read-only ones."""
    found: dict[str, Any] = dict.fromkeys(one.name for one in fields(LayerWeights))
    found |= {name: tensor if tensor.ndim > 1 else tensor.copy() for name, tensor in tensors.items()}
    packed = [name for name in MATRICES if f"{name}.codes" in tensors]
    found |= {name: PackedMatrix(tensors[f"{name}.codes"], tensors[f"{name}.scales"]) for name in packed}
    return LayerWeights(**{name: value for name, value in found.items() if "." not in name})
