"""From a configuration to a target: a local model, or a server."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

from winnow_engine.config import SPECULATE, ModelConfig, TargetOptions
from winnow_engine.errors import ModelDamagedError, ModelError
from winnow_engine.models.cache import locate
from winnow_engine.targets.base import Target
from winnow_engine.targets.local.target import LlamaTarget
from winnow_engine.targets.placement import automatic
from winnow_engine.targets.remote.address import is_url, parse
from winnow_engine.targets.remote.target import HttpTarget
from winnow_engine.targets.residency import MemoryNeeds, leaves_room_for_reranker, measure
from winnow_engine.targets.suggesting import described, resolved

_log = logging.getLogger(__name__)


def open_target(models: ModelConfig, options: TargetOptions | None = None) -> Target:
    """Open a configuration's target. Raises what `check_target`, `LlamaTarget.open` and `HttpTarget.open` do."""
    models = resolved(models)
    if is_url(models.target):
        return HttpTarget.open(parse(models.target), models.target_context)
    file, wanted = locate(models.target), options or local_options(models)
    try:
        return LlamaTarget.open(file, wanted)
    except ModelDamagedError as error:  # llama.cpp fails alike where a GPU lacks the memory
        if options or models.target_place != "auto" or wanted.place == "cpu":
            raise
        _log.warning("%s; the target is opened on the CPU", error)
        return LlamaTarget.open(file, replace(wanted, place="cpu", n_gpu_layers=None, experts_in_memory=0))


def check_target(models: ModelConfig) -> None:
    """Raise the ModelError or TargetAddressError that can be told without loading the target."""
    if is_url(models.target):
        parse(models.target)
    else:
        local_options(models)


def local_options(models: ModelConfig) -> TargetOptions:
    """How a local target is run: where the configuration says, or for `auto` where it fits beside the drafter."""
    return _plan(models)[0]


def room_for_reranker(models: ModelConfig, *, answers: bool) -> bool:
    """Whether the reranker fits on the GPU beside drafter and, if it `answers`, target. ModelError for the drafter."""
    if answers and not is_url(models.target):
        try:
            options, memory = _plan(models)
            return leaves_room_for_reranker(memory, options.place)
        except ModelError:
            pass  # which whoever opens the target says
    return leaves_room_for_reranker(measure(locate(models.drafter), None, TargetOptions()), "cpu")


def _plan(models: ModelConfig) -> tuple[TargetOptions, MemoryNeeds]:
    """How a local target is run, by what the GPU has free now and what it and the drafter need."""
    options = TargetOptions(
        kv_type=models.kv_type, speculate=draft_model(models.speculate), snapshot_bytes=models.snapshot_bytes
    )
    target = locate(resolved(models).target)
    memory = measure(locate(models.drafter), target, options)
    if models.target_place != "auto":
        return replace(options, place=models.target_place), memory
    return automatic(lambda: described("", target), target.name, memory, options), memory


def draft_model(name: str) -> str | Path:
    """`ModelConfig.speculate` as `TargetOptions.speculate`. Raises ModelNotFoundError or ModelDamagedError."""
    return name if name in SPECULATE else locate(name)
