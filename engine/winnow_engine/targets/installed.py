"""The target that `auto` stands for: the best for this machine of those that are installed."""

from __future__ import annotations

from dataclasses import replace
from threading import Lock

from winnow_engine.config import AUTO, ModelConfig
from winnow_engine.models.cache import installed
from winnow_engine.models.gguf_header import model_bytes
from winnow_engine.platform import free_memory
from winnow_engine.targets.suggesting import all_targets, best, drafter_of, suggest

# A process chooses once, because what it loads takes memory from the next choice.
_chosen: dict[tuple[str, float, frozenset[str]], str] = {}
_choosing = Lock()


def resolved(models: ModelConfig) -> ModelConfig:
    """The configuration with a target that is a name, file or URL. ModelNotFoundError if none is installed."""
    if models.target != AUTO:
        return models
    names = [name for name, _ in sorted(installed(models.drafter), key=lambda one: model_bytes(one[1]))]
    key = models.drafter, models.patience_s, frozenset(names)
    with _choosing:
        if key not in _chosen:
            _chosen[key] = names[0] if len(names) == 1 else _best(models, names)
        return replace(models, target=_chosen[key])


def _best(models: ModelConfig, names: list[str]) -> str:
    among = [target for target in all_targets() if target.name in names]
    chosen = best(suggest(drafter_of(models.drafter), free_memory(), models.patience_s, among), models.patience_s)
    return chosen.model.name if chosen else names[0]
