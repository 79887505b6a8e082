"""How a local target is run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from winnow_engine.models.cache import locate
from winnow_engine.runtime import physical_cores

KvType = Literal["f16", "q8_0", "q4_0"]
Place = Literal["resident", "on-demand", "cpu"]
Wanted = Literal["auto", "resident", "on-demand", "cpu"]
DRAFTS = ("auto", "off", "lookup")
SNAPSHOT_MEGABYTES = 2000
"""Disk for snapshots unless told otherwise: 2,000 tokens read by Qwen2.5-Coder-1.5B are 57 MB."""


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """Settings of a local target; None means what suits this machine.

    `kv_type` is the storage of keys and values. `n_threads` defaults to the physical cores, `n_gpu_layers` to
    all layers on a build with GPU support. `n_ubatch` tokens are evaluated at once: fewer cancel sooner where
    llama.cpp cannot stop inside a batch (GPUs).

    `draft` guesses tokens that the model verifies several at a time: `lookup` from prompt and answer, `auto` the same
    as far as it pays, a path by the model in that GGUF file, which must have the same vocabulary.

    `place` is where the weights live: in the GPU's memory, if there is any, for good; only while a question is
    answered, and in memory not at all between; or never on the GPU, whatever `n_gpu_layers` says.

    `snapshot_bytes` of disk may hold what the model has read, so that it need not read it again after a restart or
    another question (`targets/snapshots/policy.py`). 0 deletes what is there; None leaves the disk alone.
    """

    kv_type: KvType = "f16"
    n_threads: int | None = None
    n_gpu_layers: int | None = None
    n_ubatch: int = 512
    draft: str | Path = "auto"
    place: Place = "resident"
    snapshot_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.kv_type not in get_args(KvType):
            raise ValueError(f"kv_type must be one of {', '.join(get_args(KvType))}, not {self.kv_type!r}")
        if self.place not in get_args(Place):
            raise ValueError(f"place must be one of {', '.join(get_args(Place))}, not {self.place!r}")
        if self.n_threads is not None and self.n_threads < 1:
            raise ValueError(f"n_threads must be at least 1, not {self.n_threads}")
        if self.n_gpu_layers is not None and self.n_gpu_layers < 0:
            raise ValueError(f"n_gpu_layers must be at least 0, not {self.n_gpu_layers}")
        if self.n_ubatch < 1:
            raise ValueError(f"n_ubatch must be at least 1, not {self.n_ubatch}")
        if self.snapshot_bytes is not None and self.snapshot_bytes < 0:
            raise ValueError(f"snapshot_bytes must be at least 0, not {self.snapshot_bytes}")
        if isinstance(self.draft, str) and self.draft not in DRAFTS:
            raise ValueError(f"draft must be one of {', '.join(DRAFTS)} or a Path, not {self.draft!r}")

    @property
    def gpu_layers(self) -> int | None:
        """How many layers the GPU gets; None for all it can have."""
        return 0 if self.place == "cpu" else self.n_gpu_layers

    @property
    def threads(self) -> int:
        """`n_threads`, or one a physical core: hyper-threads share the units that multiply matrices."""
        return self.n_threads or physical_cores()


def draft_of(name: str) -> str | Path:
    """What a user called a draft, as `TargetOptions.draft`. Raises ModelNotFoundError or ModelDamagedError."""
    return name if name in DRAFTS else locate(name)


@dataclass(frozen=True, slots=True)
class Models:
    """Which models answer; equal ones are shared between clients."""

    drafter: str
    target: str
    kv_type: KvType
    draft: str
    target_context: int | None = None
    target_place: Wanted = "auto"
    snapshot_megabytes: int = SNAPSHOT_MEGABYTES
