"""Targets that suit this machine, how soon and how fast each would answer, and the one that `auto` stands for."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Literal

from winnow_engine.config import AUTO, ModelConfig, Place, TargetOptions
from winnow_engine.errors import ModelError, UnsupportedModelError
from winnow_engine.models.cache import default_directory, installed, locate, pulled_beside_table
from winnow_engine.models.gguf_header import GgufHeader, model_bytes, read_header
from winnow_engine.models.names import quantisation
from winnow_engine.models.registry import DEFAULT_DRAFTER, MODELS, RegisteredModel, find
from winnow_engine.models.target_table import KnownTarget, known_targets
from winnow_engine.platform import free_memory
from winnow_engine.selection.auto_budget import prefill_limit
from winnow_engine.targets.machine_speed import Forecast, Speed, cpu_speed, forecast, gpu_speed
from winnow_engine.targets.placement import automatic, divided, in_words
from winnow_engine.targets.residency import MemoryNeeds, decide, expect, kv_bytes, state_bytes
from winnow_engine.targets.snapshots.policy import snapshots_of

_FEWEST_PARAMETERS = 1_000_000_000  # facts said: 31% by 1.5 billion, 17% by half a billion (docs/results/answers.md)
# A process chooses once, because what it loads takes memory from the next choice.
_chosen: dict[tuple[str, float, frozenset[str]], str] = {}
_choosing = Lock()

Speeds = tuple[Speed | None, Mapping[bool, Speed | None]]
"""The processor's, and a GPU's at models without experts and with."""
Origin = Literal["measured", "forecast", "unknown"]
"""Of a throughput: of this model's last prompt here, of small models of random weights, of a GPU that has none."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A target, its `place` if it fits, what of it is there if that is a part, and bytes of the GPU or the machine.

    `prompt_tokens` is the most that `auto` keeps at the throughput of the `forecast`.
    """

    model: KnownTarget
    here: bool
    place: Place | None
    split: str
    reason: str
    needs_bytes: int
    origin: Origin
    forecast: Forecast | None
    prompt_tokens: int

    @property
    def tokens_per_s(self) -> float | None:
        """Of a prompt; None if unknown."""
        return self.forecast.tokens_per_s if self.forecast else None

    @property
    def first_token_s(self) -> float | None:
        """Seconds, without the time that choosing the code takes; None if the throughput is unknown."""
        return self.forecast.reads_s(self.prompt_tokens) if self.forecast else None

    @property
    def answer_tokens_per_s(self) -> float | None:
        """Without a draft; None if unknown."""
        return 1 / self.forecast.answer_s if self.forecast and self.forecast.answer_s else None


def suggest(
    drafter: RegisteredModel,
    available: int,
    patience_s: float,
    among: Sequence[KnownTarget] | None = None,
    machine: Speeds | None = None,
) -> list[Suggestion]:
    """Targets beside `drafter`, `among` some or all, largest first, with `available` bytes of memory free.

    The `machine` is measured, for seconds, where its speeds are not given and no record has them.
    """
    targets = sorted(all_targets() if among is None else among, key=lambda one: -one.parameters)
    places = [(one, memory, _placed(one, memory)) for one in targets for memory in [expect(drafter, one)]]
    if machine is None:
        in_memory = any(any(divided(one, options)[1:]) for one, _, options in places)
        experts = {one.experts > 1 for one in targets}
        machine = cpu_speed() if in_memory else None, {kind: gpu_speed(experts=kind) for kind in experts}
    return [_suggestion(*one, available, machine, patience_s) for one in places]


def best(suggestions: list[Suggestion], patience_s: float) -> Suggestion | None:
    """The largest of those that count and begin within the user's patience, else the quickest of them, if any."""
    fitting = _fitting(suggestions)
    soon = [one for one in fitting if (one.first_token_s or (math.inf if one.split else 0)) <= patience_s]
    if soon:
        return max(soon, key=lambda one: one.model.parameters)
    return min(fitting, key=lambda one: one.first_token_s or 0.0, default=None)


def _fitting(suggestions: list[Suggestion]) -> list[Suggestion]:
    """Those that fit. Of fewer than a billion parameters, whose answers are seldom right, only where no other does."""
    fitting = [one for one in suggestions if one.place is not None]
    return [one for one in fitting if one.model.parameters >= _FEWEST_PARAMETERS] or fitting


def drafter_of(name: str) -> RegisteredModel:
    """The registered drafter of that name; the default one for a file, which may be as large."""
    return find(name if any(name == model.name for model in MODELS) else DEFAULT_DRAFTER)


def all_targets() -> tuple[KnownTarget, ...]:
    """The targets of the table, and others that were pulled."""
    found = [*known_targets()]
    for name, file in pulled_beside_table(default_directory()).items():
        with suppress(ModelError):
            found.append(described(name, file))
    return tuple(found)


def described(name: str, file: Path) -> KnownTarget:
    """The figures of a target's file, from its header. ModelError if there is no such model."""
    return figures(name, read_header(file), model_bytes(file), quantisation(file.name))


def figures(name: str, header: GgufHeader, size: int, quantised: str) -> KnownTarget:
    """As `described`, of a header."""
    sizes = {tensor: math.prod(info.shape) for tensor, info in header.tensors.items()}
    if not any(sizes.values()):
        raise UnsupportedModelError(f"{name} is a vocabulary without weights")
    counts = [header.values.get(f"{header.architecture}.expert_{what}count") for what in ("used_", "")]
    used, count = (one if isinstance(one, int) and one else 1 for one in counts)
    return KnownTarget(
        name=name,
        source=name,
        parameters=sum(sizes.values()),
        expert_parameters=sum(size for tensor, size in sizes.items() if "_exps." in tensor),
        expert_bytes=sum(info.bytes for tensor, info in header.tensors.items() if "_exps." in tensor),
        experts=count,
        experts_used=used,
        output=sizes.get("output.weight", sizes.get("token_embd.weight", 0)),
        output_size=next(
            (header.tensors[one].bytes for one in ("output.weight", "token_embd.weight") if one in sizes), 0
        ),
        tied="output.weight" not in sizes,
        layers=header.block_count,
        token_bytes=kv_bytes(header, "f16", 1),
        state_bytes=state_bytes(header),
        quantisation=quantised,
        bytes=size,
        licence="unknown",
    )


def _placed(target: KnownTarget, memory: MemoryNeeds) -> TargetOptions:
    return automatic(lambda: target, str(_file(target) or ""), memory, TargetOptions())


def _suggestion(
    target: KnownTarget, memory: MemoryNeeds, options: TargetOptions, available: int, machine: Speeds, patience_s: float
) -> Suggestion:
    file, parts, (cpu, gpus) = _file(target), divided(target, options), machine
    place: Place | None = options.place
    reason, beside = decide(memory).reason, memory.drafter + memory.drafter_work
    needs = memory.target + (beside if place == "cpu" else 0)
    if (needs if place == "cpu" else sum(parts[2:])) > available:
        place, reason = None, f"{reason}; {available / 1e9:.1f} GB of memory free, not enough"
    expected = forecast(target, parts, options.n_ubatch, cpu, gpus.get(target.experts > 1))
    token_s = measured_token_s(file) if file else None
    if token_s and expected and options.place == "cpu" and token_s * expected.tokens_per_s > 1:
        token_s = None  # other work slowed it down: the forecast counts the threads' own time alone
    origin: Origin = "measured" if token_s else "forecast" if expected else "unknown"
    if token_s:
        expected = Forecast(token_s, expected.answer_s if expected else 0.0)
    limit = prefill_limit(expected.tokens_per_s if expected else None, patience_s)
    words = in_words(options, target.layers)
    return Suggestion(target, file is not None, place, words, reason, needs, origin, expected, limit)


def _file(target: KnownTarget) -> Path | None:
    with suppress(ModelError):
        return locate(target.name)
    return None


def measured_token_s(file: Path) -> float | None:
    """Seconds that a token took a target to read on this machine, by its snapshots."""
    return snapshots_of(file, TargetOptions().kv_type, sys.maxsize).newest_token_s()  # so high a limit deletes none


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
    about = drafter_of(models.drafter), free_memory(), models.patience_s, among
    found = suggest(*about, (None, {}))
    chosen = best(suggest(*about) if len(_fitting(found)) > 1 else found, models.patience_s)
    return chosen.model.name if chosen else names[0]
