"""Which layers and experts of a target go to a GPU that cannot hold all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product

from winnow_engine.config import KvType, TargetOptions
from winnow_engine.models.names import part_count
from winnow_engine.models.target_table import KnownTarget
from winnow_engine.targets.residency import BYTES_A_VALUE, MemoryNeeds, context_bytes, decide, left_for_target

_LEAST_SHARE = 4  # with less than a quarter of the layers there, copying costs what the GPU gains
# What is in memory is copied for each batch of a prompt: larger ones are read sooner, and take memory.
_BATCH, _BATCH_BYTES = 2048, 512 << 20


def automatic(known: Callable[[], KnownTarget], name: str, needs: MemoryNeeds, options: TargetOptions) -> TargetOptions:
    """The options with the place `auto`: all of the target where it fits, else a part of one file if that pays."""
    place = decide(needs).target
    left = left_for_target(needs) if place == "cpu" and part_count(name) == 1 else 0
    return (placed(known(), left, options) if left > 0 else None) or replace(options, place=place)


def placed(target: KnownTarget, free: int, options: TargetOptions) -> TargetOptions | None:
    """The options with the fastest placement in `free` bytes of a GPU; None where too little would be on it to pay.

    In this order: all of it; all but the experts of some layers, from the first; the last layers and the output. Keys
    and values are quantised where only that makes room for the better of two.
    """
    return next((one for one in _candidates(target, options) if _gpu_bytes(target, one) <= free), None)


def divided(target: KnownTarget, options: TargetOptions) -> tuple[int, int, int, int]:
    """Layers that are on the GPU, those with weights in memory, and bytes of these: experts' and others.

    llama.cpp counts the output as a layer.
    """
    layers, on_gpu = target.layers, options.gpu_layers
    first = 0 if on_gpu is None else min(layers, layers + 1 - on_gpu)
    without = max(first, options.experts_in_memory if target.expert_bytes else 0)
    others = target.bytes - target.expert_bytes - target.output_bytes * (1 if target.tied else 2)
    end = target.output_bytes if on_gpu == 0 else 0
    return layers - first, without, target.expert_bytes * without // layers, others * first // layers + end


def in_words(options: TargetOptions, layers: int) -> str:
    """What is special about a place on a GPU: "" for all layers, with keys and values in f16."""
    experts, last = options.experts_in_memory, options.n_gpu_layers
    words = [f"experts of {experts} of {layers} layers in memory"] * (experts > 0)
    words += [] if last is None else [f"the last {last - 1} of {layers} layers"]
    return ", ".join(words + [options.kv_type] * (options.kv_type != "f16"))


def _candidates(target: KnownTarget, options: TargetOptions) -> Iterator[TargetOptions]:
    layers, on_gpu = target.layers, replace(options, place="resident")
    types: tuple[KvType, ...] = ("f16", "q8_0") if options.kv_type == "f16" else (options.kv_type,)
    whole = [replace(on_gpu, kv_type=one) for one in types]
    yield from whole
    if target.expert_bytes:
        larger = [replace(one, n_ubatch=max(_BATCH, one.n_ubatch)) for one in whole]
        yield from (replace(one, experts_in_memory=count) for one, count in product(larger, range(1, layers + 1)))
    yield from (replace(on_gpu, n_gpu_layers=count) for count in range(layers, layers // _LEAST_SHARE, -1))


def _gpu_bytes(target: KnownTarget, options: TargetOptions) -> int:
    """The bytes of weights, keys, values and states that are on the GPU, and what larger batches take."""
    on_gpu, _, experts, others = divided(target, options)
    looked_up = 0 if target.tied else target.output_bytes  # the embedding: row by row, so in memory
    kv, states = context_bytes(target)
    memory = int(kv * BYTES_A_VALUE[options.kv_type] / 2) + states
    batches = _BATCH_BYTES if options.experts_in_memory else 0
    return target.bytes - looked_up - experts - others + memory * on_gpu // target.layers + batches
