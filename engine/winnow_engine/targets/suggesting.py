"""Targets that suit this machine, and how soon and how fast each would answer."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Literal

import llama_cpp

from winnow_engine.config import Place, TargetOptions
from winnow_engine.errors import ModelError, UnsupportedModelError
from winnow_engine.models.cache import default_directory, locate, pulled_beside_table
from winnow_engine.models.gguf_header import model_bytes, read_header
from winnow_engine.models.names import quantisation
from winnow_engine.models.registry import DEFAULT_DRAFTER, MODELS, RegisteredModel, find
from winnow_engine.models.target_table import KnownTarget, known_targets
from winnow_engine.selection.auto_budget import prefill_limit
from winnow_engine.targets.machine_speed import Kind, Speed, kind_of, speeds
from winnow_engine.targets.residency import MemoryNeeds, decide, expect, kv_bytes, state_bytes
from winnow_engine.targets.snapshots.files import Snapshots, default_folder, made_by

_NARROW = 1024
Origin = Literal["measured", "forecast", "unknown"]
"""Source of a prefill throughput.

`measured`: this model has read prompts on this machine, the last time at that throughput. `forecast`: from what small
models of random weights take here. `unknown`: a GPU for which nothing was measured.
"""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A target, its `place` if it fits, and `needs_bytes` of the GPU or, with the drafter, the machine.

    `prompt_tokens` is the most that `auto` keeps at `tokens_per_s`; answers come at `answer_tokens_per_s`, a forecast.
    """

    model: KnownTarget
    here: bool
    place: Place | None
    reason: str
    needs_bytes: int
    origin: Origin
    tokens_per_s: float | None
    prompt_tokens: int
    answer_tokens_per_s: float | None

    @property
    def first_token_s(self) -> float | None:
        """Seconds, without the time that choosing the code takes; None if the throughput is unknown."""
        return None if self.tokens_per_s is None else self.prompt_tokens / self.tokens_per_s


def suggest(
    drafter: RegisteredModel, available: int, patience_s: float, among: Sequence[KnownTarget] | None = None
) -> list[Suggestion]:
    """Targets beside `drafter`, `among` some or all, largest first, with `available` bytes of memory free."""
    targets = sorted(all_targets() if among is None else among, key=lambda one: -one.parameters)
    needs = {target: expect(drafter, target) for target in targets}
    machine = speeds({_kind(target) for target, memory in needs.items() if decide(memory).target == "cpu"})
    return [_suggestion(target, memory, available, machine, patience_s) for target, memory in needs.items()]


def best(suggestions: list[Suggestion], patience_s: float) -> Suggestion | None:
    """The largest that fits and begins within the user's patience, else the quickest that fits, if any does."""
    fitting = [one for one in suggestions if one.place is not None]
    soon = [one for one in fitting if one.first_token_s is None or one.first_token_s <= patience_s]
    if soon:
        return max(soon, key=lambda one: one.model.parameters)
    return min(fitting, key=lambda one: one.first_token_s or 0.0, default=None)


def drafter_of(name: str) -> RegisteredModel:
    """The registered drafter of that name; the default one for a file, which may be as large."""
    return find(name if any(name == model.name for model in MODELS) else DEFAULT_DRAFTER)


def all_targets() -> tuple[KnownTarget, ...]:
    """The targets of the table, and others that were pulled."""
    return (*known_targets(), *_pulled())


def _pulled() -> list[KnownTarget]:
    """Targets that were pulled, but are not in the table."""
    found = list[KnownTarget]()
    for name, file in pulled_beside_table(default_directory()).items():
        with suppress(ModelError):
            found.append(described(name, file))
    return found


def described(name: str, file: Path) -> KnownTarget:
    """The figures of a target's file, from its header. ModelError if there is no such model."""
    header = read_header(file)
    sizes = {tensor: math.prod(info.shape) for tensor, info in header.tensors.items()}
    if not any(sizes.values()):
        raise UnsupportedModelError(f"{file} is a vocabulary without weights")
    counts = [header.values.get(f"{header.architecture}.expert_{what}count") for what in ("used_", "")]
    used, count = (one if isinstance(one, int) and one else 1 for one in counts)
    unused = sum(size for tensor, size in sizes.items() if "_exps." in tensor) * (1 - used / count)
    embedding = header.tensors.get("token_embd.weight")
    return KnownTarget(
        name=name,
        source=name,
        parameters=sum(sizes.values()),
        active=sum(sizes.values()) - int(unused),
        output=sizes.get("output.weight", sizes.get("token_embd.weight", 0)),
        tied="output.weight" not in sizes,
        layers=header.block_count,
        token_bytes=kv_bytes(header, "f16", 1),
        state_bytes=state_bytes(header),
        quantisation=quantisation(file.name),
        narrow=embedding is not None and embedding.shape[-1] < _NARROW,
        bytes=model_bytes(file),
        context=header.context_length,
        thinking="unknown",
        licence="unknown",
        figures="the file's header",
        date=date.today(),
    )


def _suggestion(
    target: KnownTarget, memory: MemoryNeeds, available: int, machine: Mapping[Kind, Speed], patience_s: float
) -> Suggestion:
    decided = decide(memory)
    place: Place | None = decided.target
    reason, needs = decided.reason, memory.target
    if place == "cpu":
        needs += memory.drafter + memory.drafter_work
        if needs > available:
            place, reason = None, f"{reason}; of memory, {available / 1e9:.1f} GB free, not enough"
    speed, file = machine[_kind(target)] if decided.target == "cpu" else None, _file(target)
    origin: Origin = "measured"
    token_s = measured_token_s(file) if file else None
    if token_s is None:
        token_s, origin = (speed.prompt_token_s(target), "forecast") if speed else (None, "unknown")
    rate = 1 / token_s if token_s else None
    answers = 1 / speed.answer_token_s(target) if speed else None
    limit = prefill_limit(rate, patience_s)
    return Suggestion(target, file is not None, place, reason, needs, origin, rate, limit, answers)


def _kind(target: KnownTarget) -> Kind:
    return kind_of(target.quantisation, experts=target.experts, narrow=target.narrow)


def _file(target: KnownTarget) -> Path | None:
    with suppress(ModelError):
        return locate(target.name)
    return None


def measured_token_s(file: Path) -> float | None:
    """Seconds that a token took a target to read on this machine, by its snapshots."""
    name = made_by(file, TargetOptions().kv_type, llama_cpp.__version__)
    # A limit so high deletes none of them.
    return Snapshots(default_folder(), sys.maxsize, name).newest_token_s()
