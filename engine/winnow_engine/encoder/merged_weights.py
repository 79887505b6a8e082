"""Merged weights on disk: a model's layers, dequantised and with updates merged in, in one file that is mapped.

Dequantising and merging take seconds. The file is mapped read-only, so that loading takes milliseconds and processes
share its pages. The default drafter's 8 layers have 239 MB packed for this processor, and 477 in float32.

Layout (little-endian): magic, length of the header, SHA-256 of the header; the header, JSON with each tensor's place,
shape and type, the file's size and a checksum of samples; the tensors, each at a multiple of 64 bytes. A file that is
cut short, or whose header or samples are not what they were, is deleted and counts as missing. Layers are computed and
written one after the other, and complete files are renamed into place. Any process may delete any file at any time, so
that no lock is needed.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import logging
import math
import mmap
import os
import shutil
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_info

from winnow_cuda.cpu.packing import MATRICES
from winnow_cuda.shapes import LayerWeights, MatrixForm, PackedMatrix
from winnow_engine.encoder.weights import ComputeLayer, Layers
from winnow_engine.storage.folders import cache_folder, delete, temporary, used_in, used_last_first

Tensors = Mapping[str, NDArray[Any]]

KEPT = 3
"""Files to keep, those used last: a drafter's, its reranker's, and those of another drafter."""

_MAGIC = b"WINNOWW2"
_PREAMBLE = struct.Struct("<8sQ32s")
_SUFFIX = ".weights"
_ALIGNMENT = 64
_SAMPLE, _SAMPLE_EVERY = 1 << 12, 1 << 20  # bytes
_MOST_OF_ENTRY = 128  # bytes of a tensor's place in the header
_LEFT_FREE = 1 << 30  # bytes of disk that are left to the user
_log = logging.getLogger(__name__)


class MergedWeights:
    """One drafter's merged weights in a folder. Safe to use beside other processes; a full disk keeps nothing."""

    def __init__(self, folder: Path, name: str) -> None:
        """`name` identifies all that the weights depend on (`name_of`)."""
        self._path = folder / f"{name}{_SUFFIX}"

    def __call__(self, count: int, compute: ComputeLayer) -> Layers:
        """The `count` layers on disk; if they are not there, each is computed, written, and all are read back.

        Matrices are read-only views of the file, vectors are copies. Layers that cannot be written are returned as
        computed.
        """
        return self._mapped() or self._keep(count, compute)

    def _mapped(self) -> Layers | None:
        try:
            layers = _layers(_map(self._path))
        except OSError:
            return None
        except (ValueError, KeyError, TypeError, struct.error) as error:
            _log.warning("the merged weights %s are not sound and are deleted: %s", self._path, error)
            delete(self._path)
            return None
        with suppress(OSError):
            os.utime(self._path)
        return layers

    def _keep(self, count: int, compute: ComputeLayer) -> Layers:
        """Write the layers one by one, and return them as mapped, so that processes share their memory."""
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(self._path, count, compute)
        except OSError as error:
            _log.info("no merged weights can be kept in %s: %s", self._path.parent, error)
        else:
            _trim(self._path.parent)
        return self._mapped() or tuple(map(compute, range(count)))


def _trim(folder: Path) -> None:
    """Delete all but the `KEPT` used last."""
    whole = [path for path, _, _ in used_last_first(folder) if path.suffix == _SUFFIX]
    for path in whole[KEPT:]:
        delete(path)


def name_of(identity: str, form: MatrixForm) -> str:
    """Names the merged weights of the drafter with this `identity`, computed on this machine, in that form.

    The adapter's update is a product of matrices, which the libraries for different processors round differently.
    """
    blas = sorted(f"{p['internal_api']} {p.get('architecture')}" for p in threadpool_info() if p["user_api"] == "blas")
    depends = [identity, np.__version__, blas, "int16 by 32, bounded by norm" if form == "packed" else form]
    return hashlib.sha256(json.dumps(depends).encode()).hexdigest()[:32]


def default_folder() -> Path:
    """The folder `weights` in the cache folder."""
    return cache_folder() / "weights"


def used_bytes(folder: Path) -> tuple[int, int]:
    """The number of merged weights in a folder, and their bytes."""
    return used_in(folder, _SUFFIX)


def _named(name: str, value: Any) -> Iterator[tuple[str, NDArray[Any]]]:
    """The tensors of layer `name`, as LAYER.FIELD, packed ones as LAYER.FIELD.PART."""
    if is_dataclass(value):
        for of in fields(value):
            yield from _named(f"{name}.{of.name}", getattr(value, of.name))
    elif value is not None:
        yield name, value


def _layers(tensors: Tensors) -> Layers:
    """The inverse of `_named`. Vectors are copied: Numba would compile its kernels again for read-only ones."""
    by_layer: dict[int, dict[str, Any]] = {}
    for name, tensor in tensors.items():
        layer, _, field = name.partition(".")
        of = by_layer.setdefault(int(layer), {one.name: None for one in fields(LayerWeights)})
        of[field] = tensor if tensor.ndim > 1 else tensor.copy()
    return tuple(LayerWeights(**_put_together(by_layer[layer])) for layer in range(len(by_layer)))


def _put_together(layer: dict[str, Any]) -> dict[str, Any]:
    """The fields of a layer, its packed matrices as such."""
    packed = {name for name in MATRICES if f"{name}.codes" in layer}
    plain = {name: value for name, value in layer.items() if "." not in name}
    return plain | {name: PackedMatrix(layer[f"{name}.codes"], layer[f"{name}.scales"]) for name in packed}


def _write(path: Path, count: int, compute: ComputeLayer) -> None:
    """Write a file whole or not at all, a layer at a time. OSError if there is no room, or it cannot be written."""
    first = list(_named("0", compute(0)))
    length = _body(count * _MOST_OF_ENTRY * (len(first) + 1)) - _PREAMBLE.size
    if shutil.disk_usage(path.parent).free < count * sum(_padded(tensor) for _, tensor in first) + _LEFT_FREE:
        raise OSError("the disk is almost full")
    others = (named for number in range(1, count) for named in _named(str(number), compute(number)))
    with temporary(path.parent) as part, part.open("wb") as file:
        file.seek(_PREAMBLE.size + length)
        header = json.dumps(_write_tensors(file, itertools.chain(first, others))).encode().ljust(length)
        if len(header) > length:
            raise OSError("the layers are not alike")
        file.seek(0)
        file.write(_PREAMBLE.pack(_MAGIC, length, hashlib.sha256(header).digest()) + header)
        file.flush()
        os.fsync(file.fileno())  # the samples would not tell that a part was lost in a power cut
        file.close()
        part.replace(path)


def _write_tensors(file: BinaryIO, named: Iterable[tuple[str, NDArray[Any]]]) -> dict[str, Any]:
    """Write tensors one by one, and return the header that describes them."""
    places, end, digest = {}, 0, hashlib.sha256()
    for name, tensor in named:
        places[name] = [end, list(tensor.shape), tensor.dtype.str]
        end += _padded(tensor)
        file.write(np.ascontiguousarray(tensor).data)
        file.write(bytes(_padded(tensor) - tensor.nbytes))
        _add_samples(digest, tensor)
    return {"tensors": places, "bytes": end, "samples": digest.hexdigest()}


def _padded(tensor: NDArray[Any]) -> int:
    """The bytes that a tensor takes in a file."""
    return -(-tensor.nbytes // _ALIGNMENT) * _ALIGNMENT


def _map(path: Path) -> Tensors:
    """The tensors of a file, as views of it. ValueError, KeyError, TypeError or struct.error if it is damaged."""
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    magic, length, checksum = _PREAMBLE.unpack_from(data)
    header = data[_PREAMBLE.size : _PREAMBLE.size + length]
    if magic != _MAGIC or hashlib.sha256(header).digest() != checksum:
        raise ValueError("its header is damaged")
    described, start = json.loads(header), _PREAMBLE.size + length
    if len(data) != start + described["bytes"]:
        raise ValueError(f"it has {len(data):,} bytes instead of {start + described['bytes']:,}")
    if hasattr(data, "madvise"):
        data.madvise(mmap.MADV_WILLNEED)  # all of it will be read soon
    tensors = {
        name: np.frombuffer(data, np.dtype(kind), math.prod(shape), start + offset).reshape(shape)
        for name, (offset, shape, kind) in described["tensors"].items()
    }
    digest = hashlib.sha256()
    for tensor in tensors.values():
        _add_samples(digest, tensor)
    if digest.hexdigest() != described["samples"]:
        raise ValueError("its tensors are damaged")
    return tensors


def _add_samples(digest: Any, tensor: NDArray[Any]) -> None:
    """Add the beginning of a tensor and a page of each further megabyte to a checksum: milliseconds for all."""
    raw = np.ascontiguousarray(tensor).reshape(-1).view(np.uint8)
    for start in range(0, len(raw), _SAMPLE_EVERY):
        digest.update(raw[start : start + _SAMPLE].data)


def _body(header: int) -> int:
    """The offset of the tensors behind a header of that many bytes."""
    return -(-(_PREAMBLE.size + header) // _ALIGNMENT) * _ALIGNMENT
