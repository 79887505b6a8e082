"""Which layers and experts of a target go to a GPU that cannot hold all of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from winnow_engine.config import KvType, TargetOptions
from winnow_engine.models.gguf_header import GgufHeader
from winnow_engine.targets.residency import memory_bytes

_LEAST_SHARE = 4  # with less than a quarter of the layers there, copying costs what the GPU gains
_LAYER = re.compile(r"blk\.(\d+)\.")
_EXPERTS = "_exps."


def placed(header: GgufHeader, free: int, options: TargetOptions) -> TargetOptions | None:
    """The options with the fastest placement in `free` bytes of a GPU; None where too little would be on it to pay.

    In this order: all of it; all but the experts of some layers, from the first; the last layers and the output. Keys
    and values are quantised where only that makes room for the better of two.
    """
    return next((one for one in _candidates(header, options) if _gpu_bytes(header, one) <= free), None)


def _candidates(header: GgufHeader, options: TargetOptions) -> Iterator[TargetOptions]:
    layers, on_gpu = header.block_count, replace(options, place="resident")
    types: tuple[KvType, ...] = ("f16", "q8_0") if options.kv_type == "f16" else (options.kv_type,)
    whole = [replace(on_gpu, kv_type=one) for one in types]
    yield from whole
    if any(_EXPERTS in name for name in header.tensors):
        yield from (replace(one, experts_in_memory=count) for one, count in product(whole, range(1, layers + 1)))
    yield from (replace(on_gpu, n_gpu_layers=count) for count in range(layers, layers // _LEAST_SHARE, -1))


def _gpu_bytes(header: GgufHeader, options: TargetOptions) -> int:
    """The bytes of weights, keys, values and states that are on the GPU. llama.cpp counts the output as a layer."""
    layers = header.block_count
    first = 0 if options.n_gpu_layers is None else layers + 1 - options.n_gpu_layers
    looked_up = "token_embd.weight" if "output.weight" in header.tensors else ""  # row by row, so in memory
    weights = 0
    for name, tensor in header.tensors.items():
        found = _LAYER.match(name)
        layer = int(found[1]) if found else layers
        stays = name == looked_up or (layer < options.experts_in_memory and _EXPERTS in name)
        weights += 0 if layer < first or stays else tensor.bytes
    return weights + memory_bytes(header, options) * (layers - first) // layers
