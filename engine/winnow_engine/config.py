"""The configuration: frozen, parsed at the edge (`winnow_lsp/host/settings.py`) and passed down."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from winnow_engine.core import Budget, Sampling
from winnow_engine.models.registry import DEFAULT_DRAFTER
from winnow_engine.platform import physical_cores

KvType = Literal["f16", "q8_0", "q4_0"]
Place = Literal["resident", "cpu"]
Wanted = Literal["auto", "resident", "cpu"]
AUTO: Final = "auto"
SPECULATE = (AUTO, "off", "lookup")
FIRST_LOOK_TOKENS = 6000  # code that the drafter encodes for a first answer: 5 s on two cores
CACHE_MEGABYTES = 6000
"""Disk for indexes and snapshots: a token is 66 bytes of an index, and 28 KB read by Qwen2.5-Coder-1.5B."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The models, and how the target runs. Clients with equal ones share the models.

    `drafter` and `target` are names of `models/registry.py` or GGUF files. A target may be AUTO, the best installed
    for `patience_s`, or a server's URL, whose context is `target_context` tokens if it does not say. `speculate` is one
    of SPECULATE, or a GGUF file.
    """

    drafter: str = DEFAULT_DRAFTER
    target: str = AUTO
    kv_type: KvType = "f16"
    speculate: str = "auto"
    target_context: int | None = None
    target_place: Wanted = "auto"
    cache_megabytes: int = CACHE_MEGABYTES
    patience_s: float = field(default=Budget().patience_s, compare=False)

    @property
    def loaded(self) -> ModelConfig:
        """Equal for models that can be the same in memory: the disk they may use can differ, if they may use any."""
        return replace(self, cache_megabytes=min(self.cache_megabytes, 1))

    @property
    def keeps_prompts(self) -> bool:
        """Whether prompts and conversations may be kept on disk."""
        return self.cache_megabytes > 0

    @property
    def snapshot_bytes(self) -> int:
        """Disk for what targets have read: a third of the cache."""
        return self.cache_megabytes * 10**6 // 3

    @property
    def index_bytes(self) -> int:
        """Disk for the index of all workspaces: two thirds of the cache, or of the usual one."""
        megabytes = self.cache_megabytes or CACHE_MEGABYTES
        return megabytes * 10**6 - megabytes * 10**6 // 3


@dataclass(frozen=True, slots=True)
class FileRules:
    """The user's own rules. Files must match `include`, where it is not empty, and not `exclude` (gitignore syntax)."""

    max_bytes: int = 1_000_000
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Config:
    """The user's configuration. `shared_indexes` are folders or URLs of indexes that others wrote (`sharing`)."""

    models: ModelConfig = field(default_factory=ModelConfig)
    budget: Budget = field(default_factory=lambda: Budget(first_look_tokens=FIRST_LOOK_TOKENS))
    sampling: Sampling = field(default_factory=Sampling)
    files: FileRules = field(default_factory=FileRules)
    shared_indexes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """Options of a local target, for llama.cpp. None means what suits this machine.

    `n_threads` defaults to the physical cores, `n_gpu_layers` to all, without the experts of the first
    `experts_in_memory` layers. `n_ubatch` tokens are evaluated at once: fewer cancel sooner where llama.cpp cannot stop
    inside a batch (GPUs). `speculate` is one of SPECULATE, or the file of a draft made for the target.
    `place` is where the weights live: `resident` on the GPU, if there is any, or on the `cpu`, whatever
    `n_gpu_layers` says. `snapshot_bytes` of disk may hold what the model has read
    (`targets/snapshots/policy.py`); 0 deletes it, None leaves the disk alone.
    """

    kv_type: KvType = "f16"
    n_threads: int | None = None
    n_gpu_layers: int | None = None
    experts_in_memory: int = 0
    n_ubatch: int = 512
    speculate: str | Path = "auto"
    place: Place = "resident"
    snapshot_bytes: int | None = None

    @property
    def gpu_layers(self) -> int | None:
        """Layers on the GPU; None for all that fit."""
        return 0 if self.place == "cpu" else self.n_gpu_layers

    @property
    def threads(self) -> int:
        """`n_threads`, or one a physical core: hyper-threads share the units that multiply matrices."""
        return self.n_threads or physical_cores()
