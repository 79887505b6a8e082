"""Which of Winnow's targets suit this machine, and how soon each would begin to answer."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import llama_cpp

from winnow_engine.config import Place, TargetOptions
from winnow_engine.models import registry
from winnow_engine.models.cache import FileState, default_directory, quick_state
from winnow_engine.models.registry import MODELS, ModelRole, RegisteredModel
from winnow_engine.selection.auto_budget import prefill_limit
from winnow_engine.targets.residency import MemoryNeeds, decide, expect
from winnow_engine.targets.snapshots.files import Snapshots, default_folder, made_by
from winnow_engine.targets.throughput import assumed_token_s

Origin = Literal["measured", "assumed", "unknown"]
"""Where a prefill throughput comes from.

`measured`: this model has read prompts on this machine, the last time at that throughput. `assumed`: a guess from the
number of cores and weights. `unknown`: a GPU for which nothing was measured. What one model reads says little about
another of another size or quantisation, so nothing is scaled; but a guess is no quicker than a smaller model was, and
no slower than a larger one.
"""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A target, its `place` if it fits, and `needs_bytes` of the GPU or, with the drafter, the machine.

    `prompt_tokens` is the most that `auto` keeps at `tokens_per_s`.
    """

    model: RegisteredModel
    here: bool
    place: Place | None
    reason: str
    needs_bytes: int
    origin: Origin
    tokens_per_s: float | None
    prompt_tokens: int

    @property
    def first_token_s(self) -> float | None:
        """Seconds, without the time that choosing the code takes; None if the throughput is unknown."""
        return None if self.tokens_per_s is None else self.prompt_tokens / self.tokens_per_s


def suggest(drafter: RegisteredModel, available: int, patience_s: float) -> list[Suggestion]:
    """Every registered target beside `drafter`, largest first, with `available` bytes of memory free."""
    targets = [model for model in MODELS if ModelRole.TARGET in model.roles]
    measured = measured_token_s()
    found = [_suggestion(model, expect(drafter, model), available, measured, patience_s) for model in targets]
    return sorted(found, key=lambda one: -one.model.parameters)


def best(suggestions: list[Suggestion], patience_s: float) -> Suggestion | None:
    """The largest that fits and begins within the user's patience, else the quickest that fits, if any does."""
    fitting = [one for one in suggestions if one.place is not None]
    soon = [one for one in fitting if one.first_token_s is None or one.first_token_s <= patience_s]
    if soon:
        return max(soon, key=lambda one: one.model.parameters)
    return min(fitting, key=lambda one: one.first_token_s or 0.0, default=None)


def measured_token_s() -> dict[str, float]:
    """Seconds that a token took registered targets to read on this machine, by name, from their snapshots."""
    directory, kv_type, found = default_directory(), TargetOptions().kv_type, dict[str, float]()
    for model in MODELS:
        if quick_state(model, directory) is FileState.OK:
            name = made_by(directory / model.file, kv_type, llama_cpp.__version__)
            # A limit so high deletes none of them.
            token_s = Snapshots(default_folder(), sys.maxsize, name).newest_token_s()
            found |= {model.name: token_s} if token_s else {}
    return found


def _suggestion(
    model: RegisteredModel, memory: MemoryNeeds, available: int, measured: Mapping[str, float], patience_s: float
) -> Suggestion:
    decided = decide(memory)
    place: Place | None = decided.target
    reason, needs = decided.reason, memory.target
    if place == "cpu":
        needs += memory.drafter + memory.drafter_work
        if needs > available:
            place, reason = None, f"{reason}; of memory, {available / 1e9:.1f} GB free, not enough"
    origin, token_s = throughput(model, measured, on_cpu=place in ("cpu", None))
    rate = 1 / token_s if token_s else None
    here = quick_state(model, default_directory()) is FileState.OK
    return Suggestion(model, here, place, reason, needs, origin, rate, prefill_limit(rate, patience_s))


def throughput(model: RegisteredModel, measured: Mapping[str, float], *, on_cpu: bool) -> tuple[Origin, float | None]:
    """Where the seconds that a token takes `model` are known from, and these."""
    if model.name in measured:
        return "measured", measured[model.name]
    if on_cpu:
        assumed = assumed_token_s(model.parameters, TargetOptions().threads)
        sizes = {registry.find(name).parameters: token_s for name, token_s in measured.items()}
        least = max((token_s for size, token_s in sizes.items() if size < model.parameters), default=0.0)
        most = min((token_s for size, token_s in sizes.items() if size > model.parameters), default=math.inf)
        return "assumed", max(least, min(assumed, most))
    return "unknown", None
